from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from components.baseline.baseline import Baseline
from components.perplexity_evaluator.split_warning import split_warning
from tests.components.packages import bare_package

SPLIT = {"group_depth": 1, "eval_fraction": 0.1, "seed": 0}


def _warning(folder: Path, recorded: Any, split: dict[str, Any]) -> tuple[str, ...]:
    bare_package(folder / "7", evaluation={"blessed": True, "split": recorded})
    return split_warning(Baseline("package", str(folder / "7"), "h", "Newest.", 7), split)


@pytest.mark.parametrize(("key", "value"), [("group_depth", 2), ("eval_fraction", 0.2), ("seed", 1)])
def test_another_split_than_the_baseline_s_is_said(tmp_path: Path, key: str, value: float):
    (sentence,) = _warning(tmp_path, SPLIT, {**SPLIT, key: value})
    assert f"(corpus.{key} {SPLIT[key]} → {value})" in sentence
    assert "pushed version 7" in sentence


@pytest.mark.parametrize("recorded", [SPLIT, None, {}, "unknown"])
def test_the_same_or_an_unrecorded_split_is_not_worth_a_word(tmp_path: Path, recorded: Any):
    assert _warning(tmp_path, recorded, SPLIT) == ()


def test_a_checkpoint_has_no_split():
    assert split_warning(Baseline("checkpoint", "anywhere", "h", "First run."), SPLIT) == ()
