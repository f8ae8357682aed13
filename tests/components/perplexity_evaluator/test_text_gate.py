from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from components.perplexity_evaluator.text_gate import judge_texts
from components.perplexity_evaluator.text_gate_config import TextGateConfig
from monitoring.text_checks import TextFigures

GOOD = TextFigures(completions=4, repeated=0.2, distinct=0.8, mean_length=40.0, empty=0.0)


@pytest.mark.parametrize(
    ("changes", "missed"),
    [
        ({}, set()),
        ({"repeated": 0.4}, set()),
        ({"repeated": 0.41}, {"gate.texts.max_repetition_increase"}),
        ({"distinct": 0.39}, {"gate.texts.min_distinct_ratio"}),
        ({"mean_length": 19.0}, {"gate.texts.min_length_ratio"}),
        ({"mean_length": 81.0}, {"gate.texts.max_length_ratio"}),
        ({"empty": 0.25}, set()),
        ({"empty": 0.5}, {"gate.texts.max_empty_share"}),
    ],
)
def test_each_limit_by_itself(changes: dict[str, Any], missed: set[str]):
    checks = judge_texts(dataclasses.replace(GOOD, **changes), GOOD, TextGateConfig(), "version 3")
    assert {check.name for check in checks if check.status == "warning"} == missed
    assert all(check.name in check.sentence and check.value is not None for check in checks)
    assert all(bool(check.next_step) == (check.status == "warning") for check in checks)


def test_a_habit_of_the_baseline_s_is_no_fault_of_the_candidate_s():
    dull = dataclasses.replace(GOOD, repeated=0.9, distinct=0.1)
    assert all(check.status == "passed" for check in judge_texts(dull, dull, TextGateConfig(), "b"))


def test_what_cannot_be_told_is_not_judged():
    short = TextFigures.measure([[1], []], ["a", ""])
    statuses = {c.about: c.status for c in judge_texts(short, short, TextGateConfig(), "b")}
    assert statuses["Repetition in completions"] == statuses["Variety of completions"] == "not judged"
    assert statuses["Empty completions"] == "warning"


def test_without_completions_there_is_nothing_to_check():
    none = TextFigures.measure([], [])
    assert judge_texts(none, none, TextGateConfig(), "b") == []
