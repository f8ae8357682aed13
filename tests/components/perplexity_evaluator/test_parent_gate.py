from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.perplexity_evaluator.check import Check
from components.perplexity_evaluator.gate import judge, next_steps, verdict
from components.perplexity_evaluator.gate_config import GateConfig
from components.perplexity_evaluator.parent_comparison import ParentComparison
from components.perplexity_evaluator.parent_gate import judge_parent
from monitoring.paired_comparison import PairedComparison

ALLOWED = "gate.max_parent_ratio"


def _parent(ratio: float, *, spread: float = 0.0, documents: int = 20, dtype: str = "int8"):
    """Documents whose losses differ from the parent's by log(ratio) per token, give or take."""
    draw = np.random.default_rng(0).normal(0, spread, documents)
    scored = np.full(documents, 100)
    theirs = scored * 2.0
    ours = theirs + scored * (math.log(ratio) + draw - draw.mean())
    return ParentComparison(dtype, "checkpoint", PairedComparison.measure(ours, theirs, scored, scored * 4))


def _check(ratio: float, *, spread: float = 0.0, dtype: str = "int8", **gate: Any) -> Check:
    return judge_parent(_parent(ratio, spread=spread, dtype=dtype), GateConfig(**gate))


@pytest.mark.parametrize(
    ("ratio", "spread", "gate", "status"),
    [
        (1.001, 0.0, {}, "passed"),
        (0.99, 0.0, {}, "passed"),
        (1.0499, 0.0, {}, "passed"),
        (1.06, 0.0, {}, "failed"),
        (1.06, 2.0, {}, "failed"),
        (1.06, 0.0, {"max_parent_ratio": 1.1}, "passed"),
        (1.01, 0.0, {"max_parent_ratio": 1.0}, "failed"),
        (1.04, 0.3, {}, "warning"),
        (1.04, 0.3, {"chance": "fail"}, "failed"),
        (1.04, 0.3, {"chance": "off"}, "passed"),
    ],
)
def test_the_ratio_to_the_parent_decides_and_a_wide_interval_warns(
    ratio: float, spread: float, gate: dict[str, Any], status: str
):
    assert _check(ratio, spread=spread, **gate).status == status


def test_the_sentence_names_dtype_both_perplexities_ratio_interval_and_limit():
    sentence = _check(1.02, spread=0.01).sentence
    assert sentence.startswith(
        "With int8 weights perplexity is 7.537, 1.0200 × that of the float32 parent (7.389), interval 1.01"
    )
    assert sentence.endswith("within gate.max_parent_ratio 1.0500.")


def test_one_document_has_no_interval_and_is_judged_by_its_ratio():
    check = judge_parent(_parent(1.02, documents=1), GateConfig())
    assert check.status == "passed"
    assert "interval" not in check.sentence


@pytest.mark.parametrize(
    ("dtype", "remedy"), [("int8", "`export.dtype: bfloat16`"), ("bfloat16", "`export.dtype: float32`")]
)
def test_a_loss_too_great_says_what_to_export_instead(dtype: str, remedy: str):
    check = _check(1.2, dtype=dtype)
    assert remedy in check.next_step
    assert ALLOWED in check.next_step


@pytest.mark.parametrize("loss", [math.nan, math.inf, -math.inf])
def test_a_parent_without_a_finite_perplexity_blesses_nobody(loss: float):
    scored = np.array([10, 10])
    broken = PairedComparison.measure([20.0, 20.0], [loss, 20.0], scored, scored)
    check = judge_parent(ParentComparison("int8", "checkpoint", broken), GateConfig(max_parent_ratio=1e9))
    assert check.status == "failed"
    assert "cannot be told" in check.sentence


@given(st.floats(0.5, 2.0), st.floats(0.5, 2.0))
def test_nothing_above_the_limit_passes_and_nothing_certain_below_it_fails(ratio: float, limit: float):
    status = judge_parent(_parent(ratio), GateConfig(max_parent_ratio=limit)).status
    if ratio > limit * 1.00001:
        assert status == "failed"
    if ratio < limit * 0.99999:
        assert status == "passed"


def _judge(parent: ParentComparison | None, **gate: Any) -> tuple[Check, ...]:
    return judge(4.0, 5.0, vocab_size=100, gate=GateConfig(**gate), baseline_label="version 3", parent=parent)


def test_the_gate_holds_a_quantised_candidate_against_its_parent_too():
    checks = _judge(_parent(1.2))
    blessing = verdict(checks)
    assert not blessing.blessed
    assert [reason for reason in blessing.reasons if ALLOWED in reason] == list(blessing.reasons)
    assert len(next_steps(checks)) == 1


def test_passing_it_is_among_the_reasons_of_a_blessing():
    blessing = verdict(_judge(_parent(1.002)))
    assert blessing.blessed
    assert len(blessing.reasons) == 3
    assert "1.0020 × that of the float32 parent" in blessing.reasons[2]


def test_float32_weights_have_no_parent_to_be_held_against():
    assert [check.name for check in _judge(None)] == ["gate.max_ratio", "gate.max_fraction"]
