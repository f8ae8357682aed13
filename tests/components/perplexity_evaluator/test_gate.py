from __future__ import annotations

import math

import pytest

from components.blessing import Blessing
from components.perplexity_evaluator.gate import judge
from components.perplexity_evaluator.gate_config import GateConfig


def _judge(candidate: float, baseline: float, **gate: float) -> Blessing:
    return judge(
        candidate, baseline, vocab_size=100, gate=GateConfig(**gate), baseline_label="pretrained model"
    )


@pytest.mark.parametrize("candidate", [math.nan, math.inf, -math.inf])
def test_what_is_not_finite_is_never_blessed(candidate: float):
    verdict = _judge(candidate, math.inf, max_ratio=1e9, max_fraction=1.0)
    assert not verdict.blessed
    assert "NaN or infinite" in verdict.reasons[0]


def test_a_better_model_is_blessed_with_reasons():
    verdict = _judge(4.0, 5.0)
    assert verdict.blessed
    assert "0.8000 × that of the pretrained model (5.000)" in verdict.reasons[0]


@pytest.mark.parametrize(
    ("candidate", "max_ratio", "blessed"),
    [(5.0, 1.0, True), (5.001, 1.0, False), (5.2, 1.05, True), (4.9, 0.95, False)],
)
def test_the_ratio_decides(candidate: float, max_ratio: float, blessed: bool):
    assert _judge(candidate, 5.0, max_ratio=max_ratio).blessed is blessed


def test_the_absolute_ceiling_holds_even_against_a_worse_baseline():
    verdict = _judge(11.0, 90.0)
    assert not verdict.blessed
    assert "absolute ceiling 10.0" in verdict.reasons[0]


def test_every_failed_limit_is_a_reason():
    assert len(_judge(50.0, 5.0).reasons) == 2


def test_a_baseline_that_is_not_finite_blesses_nobody():
    assert not _judge(4.0, math.nan).blessed


def test_rounding_between_kernels_is_no_regression():
    assert _judge(5.0000001, 5.0).blessed
