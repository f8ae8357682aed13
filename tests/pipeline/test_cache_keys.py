"""What of a checkpoint makes a component's cached answer invalid: every file, one after the other."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from models.checkpoint_files import CHECKPOINT_FILES
from models.tensor_files import WEIGHTS
from pipeline.config import RunConfig
from pipeline.pipeline import create_pipeline
from tests.tiny import CHAT_TEMPLATE, MERGES, tokenizer_json, write_tiny_checkpoint


def _json(**changes: Any) -> Callable[[Path], None]:
    """Set keys of a JSON file, which may not be there yet."""

    def change(path: Path) -> None:
        raw = json.loads(path.read_text()) if path.is_file() else {}
        path.write_text(json.dumps({**raw, **changes}))

    return change


def _text(text: str) -> Callable[[Path], None]:
    return lambda path: path.write_text(text) and None


def _flip(path: Path) -> None:
    raw = bytearray(path.read_bytes())
    raw[-1] ^= 1
    path.write_bytes(raw)


CHANGES: dict[str, Callable[[Path], None]] = {
    WEIGHTS: _flip,
    "model.safetensors.index.json": _json(weight_map={}),
    "config.json": _json(rope_theta=777.0),
    "tokenizer.json": _json(**tokenizer_json(MERGES[:-1])),
    "tokenizer.model": _text("read only without a tokenizer.json"),
    "tokenizer_config.json": _json(eos_token="<|im_end|>"),
    "special_tokens_map.json": _json(eos_token="<|im_end|>"),
    "added_tokens.json": _json(**{"<|im_end|>": 2}),
    "vocab.json": _json(a=1),
    "merges.txt": _text("#version: 0.2\n"),
    "chat_template.jinja": _text(CHAT_TEMPLATE + "\n"),
    "generation_config.json": _json(eos_token_id=[0, 2]),
}
DECIDES_TRANSFORM = {
    "tokenizer.json",
    "tokenizer_config.json",
    "chat_template.jinja",
    "generation_config.json",
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_tiny_checkpoint(tmp_path / "checkpoint", num_layers=1)
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus" / "a.py").write_text("x = 1\n")
    return tmp_path


def _keys() -> dict[str, str]:
    """Of each component what decides, besides its inputs, whether an earlier answer is valid."""
    config = RunConfig.from_raw(
        {
            "model": {"name": "tiny", "checkpoint": "checkpoint"},
            "corpus": {"sources": [{"name": "text", "path": "corpus"}]},
            "training": {"start_from": "latest_blessed"},
            "tuning": {"parameters": {"learning_rate": {"choices": [1e-3, 1e-4]}}},
        }
    )
    nodes = create_pipeline(config, "a-run").components
    return {node.id: json.dumps(node.exec_properties, sort_keys=True, default=str) for node in nodes}


def test_every_file_that_is_written_is_changed_here():
    assert CHANGES.keys() >= set(CHECKPOINT_FILES)


@pytest.mark.parametrize("name", CHANGES)
def test_a_changed_file_of_the_checkpoint_makes_its_readers_run_again(folder: Path, name: str):
    before = _keys()
    assert _keys() == before
    CHANGES[name](folder / "checkpoint" / name)
    changed = {node for node, key in _keys().items() if key != before[node]}
    expected = {"WarmStart", "Tuner", "Trainer"} | ({"Transform"} if name in DECIDES_TRANSFORM else set())
    assert changed == expected


def test_a_file_that_nobody_reads_changes_nothing(folder: Path):
    before = _keys()
    (folder / "checkpoint" / "README.md").write_text("notes")
    assert _keys() == before
