from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import BaseModel

from models.contract.errors import ConfigError
from pipeline.config import RunConfig

ROOT = Path(__file__).resolve().parents[2]
MINIMAL: dict[str, Any] = {
    "model": {"name": "tiny", "checkpoint": "checkpoint"},
    "corpus": {"sources": [{"name": "text", "path": "corpus"}]},
}


def _with(**changes: Any) -> dict[str, Any]:
    return {**MINIMAL, **changes}


def test_a_minimal_file_takes_every_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    config = RunConfig.from_raw(MINIMAL)
    assert config.push_base == tmp_path / ".tokenmill" / "models" / "tiny"
    assert Path(config.metadata_connection.path).parent == tmp_path / ".tokenmill"
    assert config.evaluation.effective_stride == 256


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (_with(trainin={}), r"`trainin` is an unknown key; did you mean `training`\?"),
        (_with(training={"learning_rat": 1}), r"`training.learning_rat` .* did you mean `learning_rate`"),
        (
            _with(corpus={"sources": [{"name": "a", "path": "b", "exclud": []}]}),
            r"`corpus.sources.0.exclud` .* did you mean `exclude`",
        ),
        (_with(zzz=1), "known keys: completion, corpus"),
        (_with(model={"name": "tiny"}), "`model.checkpoint` is missing"),
        (_with(training={"tokens": "many"}), "`training.tokens` is 'many': input should be a valid integer"),
        (_with(evaluation={"context": 8, "stride": 9}), "`stride` is 9, more than `context` 8"),
        (_with(model={"name": "Up Case", "checkpoint": "c"}), "`model.name` is 'Up Case'"),
        (_with(gate={"max_ratio": float("nan")}), "`gate.max_ratio` is nan"),
        ([1], "holds list, not a mapping"),
    ],
)
def test_faults_are_named_with_key_value_and_remedy(raw: Any, message: str):
    with pytest.raises(ConfigError, match=message):
        RunConfig.from_raw(raw)


def test_a_missing_file_and_broken_yaml_are_named(tmp_path: Path):
    with pytest.raises(ConfigError, match=r"none.yaml cannot be read: No such file.*tokenmill init"):
        RunConfig.load(tmp_path / "none.yaml")
    (tmp_path / "broken.yaml").write_text("a: [1")
    with pytest.raises(ConfigError, match="is not YAML"):
        RunConfig.load(tmp_path / "broken.yaml")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name: a\nname: b\n", r"twice.yaml: `name` stands in line 1 and again in line 2\. Keep"),
        ("training:\n  tokens: 1\n  seed: 2\n  tokens: 3\n", "`tokens` stands in line 2 and again in line 4"),
        ("corpus:\n  sources:\n    - {name: a, path: b, name: c}\n", "`name` stands in line 3"),
    ],
)
def test_a_key_that_stands_twice_is_refused(tmp_path: Path, text: str, message: str):
    (tmp_path / "twice.yaml").write_text(text)
    with pytest.raises(ConfigError, match=message):
        RunConfig.load(tmp_path / "twice.yaml")


def test_off_is_a_word_and_yes_is_still_understood_where_a_truth_value_is_wanted(tmp_path: Path):
    lines = ["model: {name: tiny, checkpoint: c}", "corpus: {sources: [{name: a, path: b}]}"]
    settings = ["export: {xla: off, dtype: int8}", "gate: {chance: off}", "training: {jit_compile: yes}"]
    (tmp_path / "words.yaml").write_text("\n".join([*lines, *settings]))
    config = RunConfig.load(tmp_path / "words.yaml")
    assert (config.export.xla, config.export.dtype, config.gate.chance) == ("off", "int8", "off")
    assert config.training.jit_compile is True


def test_a_section_without_a_line_means_its_defaults():
    assert RunConfig.from_raw(_with(gate=None)) == RunConfig.from_raw(MINIMAL)


def test_yaml_of_a_config_loads_to_the_same_config():
    config = RunConfig.from_raw(_with(training={"tokens": 7}, push={"directory": "elsewhere"}))
    assert RunConfig.from_raw(yaml.safe_load(config.to_yaml())) == config


@pytest.mark.parametrize("name", ["tokenmill.yaml", "configs/demo.yaml", "configs/demo-full.yaml"])
def test_shipped_configurations_are_valid(name: str):
    config = RunConfig.load(ROOT / name)
    assert config.evaluation.num_tokens >= 20_000
    assert (config.evaluation.context, config.evaluation.effective_stride) == (512, 512)


def test_the_commented_defaults_of_tokenmill_yaml_are_the_defaults():
    text = (ROOT / "tokenmill.yaml").read_text()
    uncommented = re.sub(r"^(\s*)# ([a-z_0-9]+: .+)$", r"\1\2", text, flags=re.MULTILINE)
    assert RunConfig.from_raw(yaml.safe_load(uncommented)) == RunConfig.load(ROOT / "tokenmill.yaml")


def test_tokenmill_yaml_names_every_key():
    text = (ROOT / "tokenmill.yaml").read_text()
    missing = [key for key in _keys(RunConfig) if not re.search(rf"^[\s#-]*{key}:", text, re.MULTILINE)]
    assert missing == []


def _keys(model: type[BaseModel]) -> set[str]:
    keys = set(model.model_fields)
    for field in model.model_fields.values():
        for part in (field.annotation, *getattr(field.annotation, "__args__", ())):
            if isinstance(part, type) and issubclass(part, BaseModel):
                keys |= _keys(part)
    return keys
