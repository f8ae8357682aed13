from __future__ import annotations

from pathlib import Path

import pytest

from models.contract.errors import ConfigError, DataError, TokenmillError
from pipeline.config import RunConfig
from pipeline.local_runner import as_tokenmill_error, run

LOG = Path("run.log")


def test_a_foreseen_error_comes_through_beam_as_it_was():
    beam = RuntimeError("wrapped")
    beam.__cause__ = DataError("file x is bad. [while running 'Read/Map']", remedy="Fix it.", field="x")
    found = as_tokenmill_error(beam, "CorpusExampleGen", LOG)
    assert type(found) is DataError
    assert str(found) == "file x is bad. Fix it."
    assert found.field == "x"


def test_an_unforeseen_error_names_component_exception_and_log():
    found = as_tokenmill_error(ZeroDivisionError("division by zero"), "Trainer", LOG)
    assert type(found) is TokenmillError
    assert str(found).startswith("Trainer failed: ZeroDivisionError: division by zero.")
    assert "run.log" in str(found)


def test_a_working_directory_that_cannot_be_made_is_named(tmp_path: Path):
    (tmp_path / "file").write_text("")
    config = RunConfig.from_raw(
        {
            "workdir": str(tmp_path / "file" / "below"),
            "model": {"name": "tiny", "checkpoint": "checkpoint"},
            "corpus": {"sources": [{"name": "text", "path": "corpus"}]},
        }
    )
    with pytest.raises(ConfigError, match=r"working directory .*below cannot be written"):
        run(config, "r1", lambda stream: None)  # type: ignore[arg-type, return-value]
