"""Stores on real servers; the whole pipeline on them is tests/e2e/test_metadata_stores.py."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from ml_metadata.proto import metadata_store_pb2 as pb

from components.metadata.metadata_connection import MetadataConnection
from components.metadata.metadata_handle import MetadataHandle
from components.metadata.metadata_store import open_existing, open_metadata
from models.contract.errors import ConfigError
from tests.database_servers import PASSWORD, USER, DatabaseServer, database_server, missing_program

pytestmark = pytest.mark.system
TEXT = 'é 汉 🎉 it\'s {"a": "\\n", \\u0041} % ; \n x'


@pytest.fixture(scope="module", params=["postgresql", "mysql"])
def server(request: pytest.FixtureRequest) -> Iterator[DatabaseServer]:
    reason = missing_program(request.param)
    if reason:
        pytest.skip(reason)
    with database_server(request.param) as running:
        yield running


@pytest.fixture
def connection(server: DatabaseServer, monkeypatch: pytest.MonkeyPatch) -> MetadataConnection:
    monkeypatch.setenv("MILL_PASSWORD", PASSWORD)
    return MetadataConnection(
        kind=server.kind,
        host="127.0.0.1",
        port=server.port,
        database="mill",
        user=USER,
        password_env="MILL_PASSWORD",
    )


@pytest.fixture(params=["server", "sqlite"])
def any_connection(
    request: pytest.FixtureRequest, connection: MetadataConnection, tmp_path: Path
) -> MetadataConnection:
    return MetadataConnection.sqlite(tmp_path / "m.sqlite") if request.param == "sqlite" else connection


def test_a_missing_database_is_none_and_the_first_run_makes_it(connection: MetadataConnection):
    fresh = replace(connection, database="fresh")
    assert open_existing(fresh) is None
    with pytest.raises(ConfigError, match=r"database fresh at 127.0.0.1.*The first run makes it"):
        open_metadata(replace(fresh, create_database=False), readonly=False)
    with MetadataHandle(fresh) as handle:
        assert handle.store.get_contexts() == []
    assert open_existing(fresh) is not None


def test_text_comes_back_and_order_is_kept(any_connection: MetadataConnection):
    store = open_metadata(any_connection, readonly=False)
    kind = store.put_artifact_type(pb.ArtifactType(name="Text", properties={"p": pb.STRING}))
    ids = []
    for number in range(3):
        artifact = pb.Artifact(type_id=kind, uri=f"/{number}/{TEXT}")
        artifact.properties["p"].string_value = artifact.custom_properties["c"].string_value = TEXT
        ids += store.put_artifacts([artifact])
    (first,) = store.get_artifacts_by_id(ids[:1])
    store.put_artifacts([first])  # an update moves the row in PostgreSQL
    found = store.get_artifacts_by_id(ids)
    assert [artifact.id for artifact in found] == ids
    for number, artifact in enumerate(found):
        assert artifact.uri == f"/{number}/{TEXT}"
        assert artifact.properties["p"].string_value == TEXT
        assert artifact.custom_properties["c"].string_value == TEXT


def test_refusals_are_in_words(
    connection: MetadataConnection, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
):
    with pytest.raises(ConfigError, match=r"no answer: .*Check `metadata.host`"):
        open_metadata(replace(connection, port=1))
    monkeypatch.setenv("MILL_PASSWORD", "a wrong one")
    with pytest.raises(ConfigError, match=r"(?i)denied|authentication failed") as caught:
        open_metadata(connection)
    assert "Correct `metadata.user` and the password" in str(caught.value)
    assert "wrong one" not in str(caught.value)
    assert capfd.readouterr() == ("", "")


def test_the_password_is_not_in_the_handle(connection: MetadataConnection):
    assert not re.search("secret", repr(MetadataHandle(connection).connection_config))
