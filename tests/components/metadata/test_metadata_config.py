from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from components.metadata.metadata_config import MetadataConfig
from components.metadata.metadata_connection import MetadataConnection
from models.contract.errors import ConfigError
from pipeline.config import RunConfig

SERVER = {"kind": "postgresql", "host": "db.example", "database": "mill", "user": "me"}


def _load(metadata: dict[str, Any]) -> RunConfig:
    return RunConfig.from_raw(
        {
            "model": {"name": "tiny", "checkpoint": "checkpoint"},
            "corpus": {"sources": [{"name": "text", "path": "corpus"}]},
            "metadata": metadata,
        }
    )


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ({"kind": "oracle"}, r"`metadata.kind` is 'oracle'"),
        ({"host": "x"}, "kind sqlite takes no `host`"),
        ({"kind": "mysql", "host": "x"}, "kind mysql needs `database`, `user` as well"),
        (SERVER | {"database": "Mill"}, r"`metadata.database` is 'Mill'"),
        (SERVER | {"database": "a; drop"}, r"`metadata.database`"),
        (SERVER | {"port": 0}, r"`metadata.port` is 0"),
        (SERVER | {"password": "x"}, "`metadata.password` is an unknown key; did you mean `password_env`"),
    ],
)
def test_faults_are_named(metadata: dict[str, Any], message: str):
    with pytest.raises(ConfigError, match=message):
        _load(metadata)


def test_a_password_put_in_the_wrong_place_is_not_repeated():
    for metadata in (SERVER | {"password": "hunter2!"}, SERVER | {"password_env": "hunter2!"}):
        with pytest.raises(ConfigError) as caught:
            _load(metadata)
        assert "hunter2" not in str(caught.value)


def test_connections_survive_json_and_hold_no_password(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("MILL_PASSWORD", "hunter2!")
    config = MetadataConfig.model_validate(SERVER | {"password_env": "MILL_PASSWORD"})
    connection = MetadataConnection.of(config, Path("work"))
    assert connection.port == 5432
    assert connection.password() == "hunter2!"
    assert "hunter2" not in connection.to_json() + str(connection) + repr(connection)
    assert MetadataConnection.from_json(connection.to_json()) == connection
    assert MetadataConnection.of(config.model_copy(update={"kind": "mysql"}), Path()).port == 3306


def test_a_password_that_is_not_set_is_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("MILL_PASSWORD", raising=False)
    config = MetadataConfig.model_validate(SERVER | {"password_env": "MILL_PASSWORD"})
    with pytest.raises(ConfigError, match=r"no MILL_PASSWORD. Set MILL_PASSWORD"):
        MetadataConnection.of(config, Path()).password()


@pytest.mark.parametrize("text", ["", "[]", '{"kind": "sqlite", "what": 1}', "null"])
def test_other_json_is_refused(text: str):
    with pytest.raises(ConfigError, match="not what a run writes"):
        MetadataConnection.from_json(text)
