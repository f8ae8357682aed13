from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from cli.main import cli
from pipeline.config import RunConfig
from pipeline.config_schema import config_schema, schema_text
from pipeline.config_template import commented_config

ROOT = Path(__file__).resolve().parents[2]
MINIMAL: dict[str, Any] = {
    "model": {"name": "tiny", "checkpoint": "checkpoint"},
    "corpus": {"sources": [{"name": "text", "path": "corpus"}]},
}
VALIDATOR = jsonschema.Draft202012Validator(config_schema())


def test_the_committed_schema_is_that_of_the_models():
    committed = (ROOT / "tokenmill.schema.json").read_text()
    assert committed == schema_text(), "run: tokenmill schema --out tokenmill.schema.json"


def test_it_is_a_schema():
    meta = jsonschema.Draft202012Validator(jsonschema.Draft202012Validator.META_SCHEMA)
    assert list(meta.iter_errors(config_schema())) == []


@pytest.mark.parametrize("name", ["tokenmill.yaml", "configs/demo.yaml", "configs/demo-full.yaml"])
def test_shipped_configurations_fit(name: str):
    assert list(VALIDATOR.iter_errors(yaml.safe_load((ROOT / name).read_text()))) == []


def test_empty_sections_and_a_config_written_out_fit():
    assert list(VALIDATOR.iter_errors({**MINIMAL, "training": None, "gate": {"slices": None}})) == []
    assert list(VALIDATOR.iter_errors(yaml.safe_load(RunConfig.from_raw(MINIMAL).to_yaml()))) == []


@pytest.mark.parametrize(
    "change",
    [
        {"trainin": {}},
        {"model": {"name": "tiny"}},
        {"model": None},
        {"training": {"tokens": "many"}},
        {"training": {"lora": {"targets": 3}}},
        {"corpus": {"sources": [{"name": "a", "path": "b", "format": "jsnl"}]}},
        {"metadata": {"kind": "oracle"}},
    ],
)
def test_what_a_run_refuses_does_not_fit(change: dict[str, Any]):
    assert not VALIDATOR.is_valid({**MINIMAL, **change})


def test_the_command_prints_or_writes_it(tmp_path: Path, capfd: pytest.CaptureFixture[str]):
    cli(["schema"], standalone_mode=False)
    assert json.loads(capfd.readouterr().out) == config_schema()
    cli(["schema", "--out", str(tmp_path / "s.json")], standalone_mode=False)
    assert (tmp_path / "s.json").read_text() == schema_text()


TRAINING = {"method": "lora", "lora": {"targets": ["q_proj"]}, "early_stopping": {"patience": 2}}


def test_a_commented_configuration_means_what_was_given_and_names_every_key():
    values = {**MINIMAL, "training": TRAINING}
    text = commented_config(values)
    assert RunConfig.from_raw(yaml.safe_load(text)) == RunConfig.from_raw(values)
    assert "    # Inner width of the low-rank products.\n    # rank: 8\n" in text
    assert max(map(len, text.splitlines())) <= 130
