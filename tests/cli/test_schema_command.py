from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner

from cli.main import cli
from pipeline.config_schema import schema_text


def _printed(*words: str) -> str:
    return CliRunner().invoke(cli, ["schema", *words], catch_exceptions=False).stdout


def test_the_schema_is_printed_or_written_and_json_is_one_line(tmp_path: Path):
    assert _printed() == schema_text()
    (line,) = _printed("--json").splitlines()
    assert json.loads(line) == json.loads(schema_text())
    file = tmp_path / "schema.json"
    assert json.loads(_printed("--out", str(file), "--json")) == {"path": str(file)}
    assert file.read_text() == schema_text()
