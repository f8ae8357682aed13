from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from models.contract.errors import CheckpointError, ConfigError, TokenmillError
from pipeline.config import RunConfig
from pipeline.config_template import commented_config
from pipeline.pipeline import create_pipeline
from pipeline.preflight import preflight
from pipeline.run_estimate import RunEstimate
from tests.tiny import TINY, write_tiny_checkpoint

SIZES = {"hidden_size": 32, "layers": 2, "heads": 4, "context": 256, "vocabulary": {"size": 300}}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus" / "a.py").write_text("x = 1\n")
    return tmp_path


def _raw(scratch: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {
        "model": {"name": "tiny", "from_scratch": {**SIZES, **scratch}},
        "corpus": {"sources": [{"name": "text", "path": "corpus"}]},
        "training": {"sequence_length": 256},
        "export": {"max_length": 256},
        "evaluation": {"context": 256},
        **changes,
    }


def _pipeline(raw: dict[str, Any]) -> dict[str, Any]:
    return {node.id: node for node in create_pipeline(RunConfig.from_raw(raw), "a-run").components}


def test_sizes_and_estimate_are_known_before_the_run(folder: Path):
    config = RunConfig.from_raw(_raw({}))
    decoder = preflight(config)
    assert decoder is not None
    assert (decoder.vocab_size, decoder.max_length, decoder.eos_ids) == (300, 256, (0,))
    assert RunEstimate.make(config, decoder, 50).parameters == decoder.num_parameters
    assert [path.name for path in folder.iterdir()] == ["corpus"]


def test_a_tokenizer_that_is_named_decides_the_ids(folder: Path):
    write_tiny_checkpoint(folder / "made")
    corpus = {"sources": [{"name": "chat", "path": "corpus", "format": "chat"}]}
    raw = _raw({"vocabulary": {"tokenizer": "made"}}, corpus=corpus)
    decoder = preflight(RunConfig.from_raw(raw))
    assert decoder is not None
    assert (decoder.vocab_size, decoder.eos_ids) == (TINY.vocab_size, TINY.eos_ids)


@pytest.mark.parametrize(
    ("scratch", "changes", "kind", "message"),
    [
        (
            {},
            {"training": {"sequence_length": 64, "method": "lora"}},
            ConfigError,
            r"`training.method` is lora.*no weights to adapt.*full",
        ),
        (
            {},
            {"training": {"sequence_length": 64, "start_from": "latest_blessed"}},
            ConfigError,
            r"`training.start_from`.*export-hf.*`model.checkpoint`",
        ),
        (
            {},
            {"corpus": {"sources": [{"name": "chat", "path": "corpus", "format": "chat"}]}},
            ConfigError,
            r"holds conversations.*no chat template.*vocabulary.tokenizer",
        ),
        (
            {"context": 128},
            {},
            ConfigError,
            r"`export.max_length` is 256, more than the context 128 of `model.from_scratch`",
        ),
        ({"vocabulary": {"specials": ["end"]}}, {}, ConfigError, "'end' is one word of the pattern"),
        (
            {"vocabulary": {"specials": ["<|a<|>"]}},
            {},
            ConfigError,
            r"`model.from_scratch.vocabulary` makes no tokenizer that loads: .*`added_tokens`.*overlap",
        ),
        (
            {},
            {"training": {"sequence_length": 64, "document_end": "<|nope|>"}},
            CheckpointError,
            r"`training.document_end`: .*'<\|nope\|>'; it has \['<\|endoftext\|>'\]",
        ),
        ({"vocabulary": {"tokenizer": "nowhere"}}, {}, CheckpointError, "nowhere"),
    ],
)
def test_what_cannot_work_is_named_with_its_key_and_the_remedy(
    folder: Path, scratch: dict[str, Any], changes: dict[str, Any], kind: type[TokenmillError], message: str
):
    with pytest.raises(kind, match=message):
        preflight(RunConfig.from_raw(_raw(scratch, **changes)))


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ({"name": "a"}, "`model.checkpoint` is missing"),
        (
            {"name": "a", "from_scratch": {}, "checkpoint": "c"},
            "`model`: `checkpoint` is 'c', but with `from_",
        ),
        (
            {"name": "a", "from_scratch": {}, "source": "s"},
            "`model`: `source` is 's', but with `from_scratch`",
        ),
        (
            {"name": "a", "from_scratch": {"vocabulary": {"size": 9}}},
            "`model.from_scratch.vocabulary`: `size` is 9",
        ),
        ({"name": "a", "from_scratch": {"layer": 2}}, "`model.from_scratch.layer` .* did you mean `layers`"),
    ],
)
def test_a_model_starts_from_one_thing(model: dict[str, Any], message: str):
    with pytest.raises(ConfigError, match=message):
        RunConfig.from_raw({**_raw({}), "model": model})


def test_yaml_of_a_config_loads_to_the_same_config():
    for scratch in ({}, {"vocabulary": {"tokenizer": "made"}}):
        config = RunConfig.from_raw(_raw(scratch))
        assert RunConfig.from_raw(yaml.safe_load(config.to_yaml())) == config


def test_the_commented_section_means_its_defaults():
    values = {"model": {"name": "a", "checkpoint": "c"}, "corpus": _raw({})["corpus"]}
    lines = commented_config(values).splitlines()
    start = lines.index("  # from_scratch:")
    block = []
    for line in lines[start:]:
        if not line.startswith("  #"):
            break
        block.append(line.removeprefix("  # "))
    found = yaml.safe_load("\n".join(block))["from_scratch"]
    model = {"name": "a", "from_scratch": found}
    assert (
        RunConfig.from_raw({**values, "model": model}).model
        == RunConfig.from_raw({**values, "model": {"name": "a", "from_scratch": {}}}).model
    )


def test_each_component_runs_again_for_its_own_settings_only(folder: Path):
    def keys(scratch: dict[str, Any]) -> dict[str, str]:
        nodes = _pipeline(_raw(scratch))
        return {
            name: json.dumps(node.exec_properties, sort_keys=True, default=str)
            for name, node in nodes.items()
        }

    def changed(**scratch: Any) -> set[str]:
        return {name for name, key in keys(scratch).items() if key != before[name]}

    before = keys({})
    assert changed(seed=1) == {"InitialModel", "Reporter"}
    assert changed(vocabulary={"size": 301}) == {"VocabularyTrainer", "InitialModel", "Reporter"}


def test_ids_and_first_weights_come_from_the_vocabulary(folder: Path):
    nodes = _pipeline(_raw({}, tuning={"parameters": {"learning_rate": {"choices": [1e-3, 1e-4]}}}))
    vocabulary = nodes["VocabularyTrainer"].outputs["vocabulary"]
    assert nodes["Transform"].inputs["vocabulary"] is vocabulary
    assert nodes["InitialModel"].inputs["vocabulary"] is vocabulary
    first = nodes["InitialModel"].outputs["model"]
    assert [nodes[name].inputs["base_model"] for name in ("Tuner", "Trainer")] == [first, first]
    assert nodes["BaselineLookup"].inputs["untrained"] is first
