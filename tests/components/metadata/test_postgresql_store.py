from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from components.metadata.connection_proto import connection_proto
from components.metadata.metadata_connection import MetadataConnection
from components.metadata.postgresql_store import decode, encode


@given(st.text(alphabet=st.sampled_from("ab\\\0\ue05c012'é")))
def test_any_text_comes_back_and_goes_out_without_backslash_and_nul(text: str):
    assert decode(encode(text)) == text
    assert not {"\\", "\0"} & set(encode(text))


def test_texts_of_a_connection_string_are_quoted():
    connection = MetadataConnection(
        kind="postgresql", host="h", port=1, database="d", user=r"o'b\n x", create_database=False
    )
    proto = connection_proto(connection).postgresql
    assert proto.user == r"'o\'b\\n x'"
    assert not proto.HasField("password")
    assert proto.skip_db_creation
