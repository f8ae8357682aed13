from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from components.blessing import Blessing
from components.perplexity_evaluator.check import Check
from components.perplexity_evaluator.gate import judge, next_steps, verdict
from components.perplexity_evaluator.gate_config import GateConfig
from components.perplexity_evaluator.slice_comparison import SliceComparison
from monitoring.paired_comparison import Estimate, PairedComparison
from monitoring.text_checks import TextFigures

GOOD = TextFigures(completions=4, repeated=0.2, distinct=0.8, mean_length=40.0, empty=0.0)


def _checks(candidate: float, baseline: float, **gate: Any) -> tuple[Check, ...]:
    return judge(
        candidate, baseline, vocab_size=100, gate=GateConfig(**gate), baseline_label="pretrained model"
    )


def _judge(candidate: float, baseline: float, **gate: Any) -> Blessing:
    return verdict(_checks(candidate, baseline, **gate))


@pytest.mark.parametrize("candidate", [math.nan, math.inf, -math.inf, 0.0])
def test_what_is_not_finite_is_never_blessed(candidate: float):
    blessing = _judge(candidate, math.inf, max_ratio=1e9, max_fraction=1.0)
    assert not blessing.blessed
    assert "NaN or infinite" in blessing.reasons[0]


def test_a_better_model_is_blessed_with_reasons():
    blessing = _judge(4.0, 5.0)
    assert blessing.blessed
    assert "0.8000 × that of the pretrained model (5.000)" in blessing.reasons[0]
    assert next_steps(_checks(4.0, 5.0)) == []


@pytest.mark.parametrize(
    ("candidate", "max_ratio", "blessed"),
    [(5.0, 1.0, True), (5.001, 1.0, False), (5.2, 1.05, True), (4.9, 0.95, False)],
)
def test_the_ratio_decides(candidate: float, max_ratio: float, blessed: bool):
    assert _judge(candidate, 5.0, max_ratio=max_ratio).blessed is blessed


def test_the_absolute_ceiling_holds_even_against_a_worse_baseline():
    blessing = _judge(11.0, 90.0)
    assert not blessing.blessed
    assert "absolute ceiling 10.0" in blessing.reasons[0]


def test_every_failed_limit_is_a_reason_with_value_limit_and_next_step():
    checks = _checks(50.0, 5.0)
    assert [(check.name, check.value, check.limit) for check in checks] == [
        ("gate.max_ratio", 10.0, 1.0),
        ("gate.max_fraction", 50.0, 10.0),
    ]
    assert verdict(checks).reasons == tuple(check.sentence for check in checks)
    assert next_steps(checks) == [check.next_step for check in checks]


@pytest.mark.parametrize("baseline", [math.nan, math.inf, 0.0])
def test_a_baseline_that_is_not_finite_blesses_nobody(baseline: float):
    assert not _judge(4.0, baseline).blessed


def test_rounding_between_kernels_is_no_regression():
    assert _judge(5.0000001, 5.0).blessed


def _slice(ratio: float, *, documents: int = 20, spread: float = 0.0, scored: int = 100) -> SliceComparison:
    """Documents whose losses differ from the baseline's by log(ratio) per token, give or take."""
    draw = np.random.default_rng(0).normal(0, spread, documents)
    counts = np.full(documents, scored)
    baseline = counts * 2.0
    candidate = baseline + counts * (math.log(ratio) + draw - draw.mean())
    comparison = PairedComparison.measure(candidate, baseline, counts, counts * 4, samples=200)
    return SliceComparison("source", "contracts", comparison, documents, documents)


def _slice_check(one: SliceComparison, **slices: Any) -> Check:
    gate = GateConfig(slices=slices)
    checks = judge(4.0, 5.0, vocab_size=100, gate=gate, baseline_label="version 3", slices=[one])
    return next(check for check in checks if check.slice)


@pytest.mark.parametrize(
    ("one", "slices", "status"),
    [
        (_slice(0.9), {}, "passed"),
        (_slice(1.05), {}, "passed"),
        (_slice(1.2), {}, "failed"),
        (_slice(1.2), {"action": "warn"}, "warning"),
        (_slice(1.2), {"max_ratio": 1.3}, "passed"),
        (_slice(1.2), {"limits": {"source=contracts": 1.25}}, "passed"),
        (_slice(1.05), {"limits": {"source=contracts": 1.0}}, "failed"),
        (_slice(1.2, spread=2.0), {}, "warning"),
        (_slice(1.05, documents=4), {}, "not judged"),
        (_slice(1.05, scored=20), {}, "not judged"),
        (_slice(1.2, documents=2), {"min_documents": 2, "min_tokens": 1}, "failed"),
        (_slice(math.nan), {}, "not judged"),
        (_slice(0.951, spread=0.001), {"max_ratio": 0.5}, "failed"),
        (_slice(0.951, spread=0.001), {"limits": {"source=contracts": 0.5}}, "failed"),
        (_slice(13.0, documents=4), {}, "warning"),
        (_slice(13.0, scored=20), {"action": "warn"}, "warning"),
        (_slice(1.2, documents=4, spread=2.0), {}, "not judged"),
        (_slice(13.0, documents=1), {}, "warning"),
        (_slice(1.2, documents=1), {}, "not judged"),
    ],
)
def test_a_slice_is_held_against_its_limit_unless_it_may_be_chance(
    one: SliceComparison, slices: dict[str, Any], status: str
):
    assert _slice_check(one, **slices).status == status


def test_chance_is_judged_against_the_slice_s_own_limit_however_generous_the_gate_is():
    gate = GateConfig(max_ratio=2.0, slices={"max_ratio": 1.0})
    checks = judge(4.0, 5.0, vocab_size=100, gate=gate, baseline_label="b", slices=[_slice(1.5, spread=0.01)])
    assert [check.status for check in checks if check.slice] == ["failed"]
    assert not verdict(checks).blessed


@given(st.floats(0.2, 5.0), st.floats(0.0, 1.0), st.floats(0.2, 5.0), st.floats(0.2, 5.0), st.integers(5, 30))
@settings(max_examples=60, deadline=None)
def test_a_slice_wholly_above_its_limit_never_passes_and_one_within_never_fails(
    ratio: float, spread: float, limit: float, overall: float, documents: int
):
    one = _slice(ratio, documents=documents, spread=spread)
    gate = GateConfig(max_ratio=overall, slices={"max_ratio": limit})
    checks = judge(4.0, 5.0, vocab_size=100, gate=gate, baseline_label="b", slices=[one])
    (status,) = [check.status for check in checks if check.slice]
    if one.comparison.ratio.low > limit * 1.00001:
        assert status == "failed"
    if ratio <= limit * 0.99999:
        assert status == "passed"


def test_an_unjudged_slice_far_above_its_limit_says_what_to_do():
    check = _slice_check(_slice(13.0, documents=4))
    assert "too small to be judged (4 documents" in check.sentence
    assert "13.0000 ×" in check.sentence
    assert "corpus.eval_fraction" in check.next_step
    assert _slice_check(_slice(1.0, documents=4)).next_step == ""


@pytest.mark.parametrize(
    ("ratio", "max_ratio", "status"),
    [
        (Estimate(0.8, 0.7, 0.9), 1.0, "passed"),
        (Estimate(1.0, 1.0, 1.0), 1.0, "passed"),
        (Estimate(1.0000001, 1.0, 1.0000002), 1.0, "passed"),
        (Estimate(0.9, 0.16, 6.59), 1.0, "warning"),
        (Estimate(0.9, 0.16, 6.59), 9.0, "warning"),
        (Estimate(0.9, 0.85, 0.99), 0.95, "warning"),
        (Estimate(1.02, 0.98, 1.04), 1.05, "passed"),
        (Estimate(1.02, 0.98, 1.06), 1.05, "warning"),
        (Estimate(0.9, math.nan, math.nan), 1.0, "warning"),
    ],
)
def test_what_may_be_chance_is_a_warning_with_a_next_step(ratio: Estimate, max_ratio: float, status: str):
    def checks(**gate: Any) -> tuple[Check, ...]:
        limits = GateConfig(max_ratio=max_ratio, **gate)
        return judge(ratio.value, 1.0, vocab_size=100, gate=limits, baseline_label="b", ratio=ratio)

    (found,) = [check for check in checks() if check.name == "gate.chance"]
    assert found.status == status
    assert verdict(checks()).blessed
    assert bool(found.next_step) == (status == "warning")
    assert verdict(checks(chance="fail")).blessed == (status == "passed")
    assert len(checks(chance="off")) == 2


def test_a_ratio_above_its_limit_is_not_called_chance_as_well():
    ratio = Estimate(1.2, 0.8, 1.5)
    checks = judge(6.0, 5.0, vocab_size=100, gate=GateConfig(), baseline_label="b", ratio=ratio)
    assert [check.name for check in checks] == ["gate.max_ratio", "gate.max_fraction"]


@pytest.mark.parametrize(("max_ratio", "blessed"), [(1.0, True), (0.95, False)])
def test_a_package_compared_with_itself_is_told_so(max_ratio: float, blessed: bool):
    checks = judge(
        5.0,
        5.0,
        vocab_size=100,
        gate=GateConfig(max_ratio=max_ratio),
        baseline_label="pushed version 3",
        ratio=Estimate(1.0, 1.0, 1.0),
        itself=True,
    )
    assert verdict(checks).blessed is blessed
    assert "pushed version 3, the baseline, is this very package" in verdict(checks).reasons[0]
    steps = next_steps(checks)
    assert not any("Train longer" in step for step in steps)
    assert any("Nothing new was trained" in step for step in steps) is not blessed


def test_a_failed_slice_names_itself_and_forbids_the_blessing():
    gate = GateConfig(max_ratio=2.0, slices={"max_ratio": 1.1})
    one = _slice(3.0)
    blessing = verdict(judge(4.0, 5.0, vocab_size=100, gate=gate, baseline_label="b", slices=[one]))
    assert not blessing.blessed
    assert "source=contracts has 3.0000 ×" in blessing.reasons[0]
    off = GateConfig(slices={"action": "off"})
    assert verdict(judge(4.0, 5.0, vocab_size=100, gate=off, baseline_label="b", slices=[one])).blessed


def test_a_generous_gate_is_generous_to_slices():
    assert _slice_check(_slice(1.2)).limit == pytest.approx(1.1)
    gate = GateConfig(max_ratio=1.5)
    checks = judge(4.0, 5.0, vocab_size=100, gate=gate, baseline_label="b", slices=[_slice(1.2)])
    assert [check.limit for check in checks if check.slice] == [pytest.approx(1.65)]


def test_a_limit_for_no_slice_is_a_warning_that_names_the_slices():
    gate = GateConfig(slices={"limits": {"source=contract": 1.0}})
    checks = judge(4.0, 5.0, vocab_size=100, gate=gate, baseline_label="b", slices=[_slice(0.9)])
    assert "no held-out text belongs to" in verdict(checks).reasons[-1]
    assert "source=contracts" in next_steps(checks)[0]


def test_warnings_follow_the_reasons_and_do_not_forbid():
    dull = TextFigures(completions=4, repeated=0.9, distinct=0.1, mean_length=40.0, empty=0.0)
    checks = judge(
        4.0, 5.0, vocab_size=100, gate=GateConfig(), baseline_label="version 3", texts=(dull, GOOD)
    )
    blessing = verdict(checks)
    assert blessing.blessed
    assert [reason.startswith("Warning:") for reason in blessing.reasons] == [False, False, True, True]
    strict = GateConfig(texts={"action": "fail"})
    failed = judge(4.0, 5.0, vocab_size=100, gate=strict, baseline_label="b", texts=(dull, GOOD))
    assert not verdict(failed).blessed
