from __future__ import annotations

from typing import Any

import pytest

from models.contract.errors import ConfigError
from pipeline.config import RunConfig

MINIMAL: dict[str, Any] = {
    "model": {"name": "tiny", "checkpoint": "checkpoint"},
    "corpus": {"sources": [{"name": "text", "path": "corpus"}]},
}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"training": {"lora": {"targets": 3}}},
            "`training.lora.targets` is 3: input should be 'all-linear', or it should be a list.",
        ),
        (
            {"training": {"lora": {"targets": ["q_proj", 1]}}},
            "`training.lora.targets.1` is 1: it should be text; put it in quotes.",
        ),
        ({"training": 5}, "`training` is 5: it should be a section: keys with values."),
        ({"corpus": {"sources": {"name": "a"}}}, "`corpus.sources` is {'name': 'a'}: it should be a list."),
        (
            {"corpus": {"sources": [{"name": "a", "path": "b", "format": "jsnl"}]}},
            "`corpus.sources.0.format` is 'jsnl': input should be 'auto', 'text', 'jsonl', 'chat', 'csv', "
            "'parquet' or 'tfrecord'. Did you mean 'jsonl'?",
        ),
        (
            {"training": {"early_stopping": {"patienc": 1}}},
            "`training.early_stopping.patienc` is an unknown key; did you mean `patience`?",
        ),
        (
            {"tuning": {"parameters": {"learning_rate": {"mn": 1}}}},
            "`tuning.parameters.learning_rate.mn` is an unknown key; did you mean `min`?",
        ),
        (
            {"training": {"tensorboard": {"attention": [[0, 1], [0, "x"]]}}},
            "`training.tensorboard.attention.1.1` is 'x': input should be a valid integer, unable to parse "
            "string as an integer.",
        ),
        (
            {"name": False},
            "`name` is False: it should be text; put it in quotes.",
        ),
        (
            {"model": {"name": "a"}},
            "`model.checkpoint` is missing (Hugging Face checkpoint directory; made from `source` if it is "
            "missing. None with `from_scratch`).",
        ),
        ({1: 2}, "`1` is 1: keys should be strings."),
    ],
)
def test_every_kind_of_fault_is_one_sentence(change: dict[Any, Any], message: str):
    with pytest.raises(ConfigError) as caught:
        RunConfig.from_raw({**MINIMAL, **change}, source="run.yaml")
    assert str(caught.value) == f"run.yaml: {message}"


def test_all_faults_are_told_and_none_twice():
    with pytest.raises(ConfigError) as caught:
        RunConfig.from_raw({**MINIMAL, "training": {"tokens": 0, "lora": {"rank": "x"}}, "gate": {"max": 1}})
    text = str(caught.value)
    assert [text.count(f"`{key}`") for key in ("training.tokens", "training.lora.rank", "gate.max")] == [
        1
    ] * 3
    assert "learning_rate" not in text


def test_a_long_value_is_cut():
    with pytest.raises(ConfigError) as caught:
        RunConfig.from_raw({**MINIMAL, "training": "x" * 5000})
    assert len(str(caught.value)) < 300


def test_empty_sections_at_any_depth_mean_their_defaults():
    raw = {**MINIMAL, "training": {"lora": None, "document_end": None}, "gate": None}
    assert RunConfig.from_raw(raw) == RunConfig.from_raw(MINIMAL)
