from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from serving.engine.incremental_detokenizer import IncrementalDetokenizer

TOKENS = st.one_of(
    st.binary(max_size=4),
    st.text(max_size=2).map(str.encode),
    st.sampled_from([bytes([byte]) for byte in b"\xe2\x82\xac\xf0\x9f\x98\x80\xed\xa0\xc3\xff"]),
)


@given(tokens=st.lists(TOKENS, min_size=1), cuts=st.lists(st.integers(0, 40)))
def test_the_parts_join_to_the_text_of_all_bytes_however_ids_arrive(tokens: list[bytes], cuts: list[int]):
    detokenizer = IncrementalDetokenizer(tokens)
    bounds = [0, *sorted(min(cut, len(tokens)) for cut in cuts), len(tokens)]
    parts = [detokenizer.append(range(start, end)) for start, end in pairwise(bounds)]
    assert "".join(parts) + detokenizer.finish() == b"".join(tokens).decode("utf-8", "replace")


@given(tokens=st.lists(TOKENS, min_size=1))
def test_what_was_sent_stays_true_whatever_follows(tokens: list[bytes]):
    detokenizer = IncrementalDetokenizer(tokens)
    sent = ""
    for index in range(len(tokens)):
        sent += detokenizer.append([index])
        for continuation in (b"", b"\x80", b"a", b"\x9f\x98\x80"):
            whole = (b"".join(tokens[: index + 1]) + continuation).decode("utf-8", "replace")
            assert whole.startswith(sent)


def test_a_character_appears_with_its_last_byte():
    detokenizer = IncrementalDetokenizer([bytes([byte]) for byte in "€".encode()])
    assert [detokenizer.append([index]) for index in range(3)] == ["", "", "€"]
    assert detokenizer.finish() == ""


def test_an_incomplete_character_is_replaced_at_the_end():
    detokenizer = IncrementalDetokenizer([b"a\xe2\x82"])
    assert detokenizer.append([0]) == "a"
    assert detokenizer.finish() == "\ufffd"


def test_ids_outside_the_vocabulary_have_no_text():
    detokenizer = IncrementalDetokenizer([b"a", b"b"])
    assert detokenizer.append([0, -1, 2, 1]) == "ab"
