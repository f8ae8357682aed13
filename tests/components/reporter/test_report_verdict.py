from __future__ import annotations

from typing import Any

import pytest

from components.reporter.report_verdict import headline, report_verdict

GOOD = {"blessed": True, "reasons": ["Good."]}
BAD = {"blessed": False, "reasons": ["Too bad."]}
PUSHED = {"pushed": 1, "new": 1, "pushed_version": "7", "pushed_destination": "models/my model/7"}
FIGURES = {
    "perplexity": 8.8,
    "ratio": 0.88,
    "interval": [0.86, 0.9],
    "confidence": 0.95,
    "scored": 20852,
    "baseline": "pretrained model",
}


def _verdict(blessing: dict[str, Any], serving: dict[str, Any], pushed: dict[str, Any]) -> dict[str, Any]:
    return report_verdict("my model", {"next_steps": ["Train longer."]}, blessing, serving, pushed)


@pytest.mark.parametrize(
    ("blessing", "serving", "pushed", "state", "blessed"),
    [
        (GOOD, GOOD, PUSHED, "pushed", True),
        (GOOD, GOOD, {**PUSHED, "new": 0}, "unchanged", True),
        (GOOD, GOOD, {"pushed": 0}, "not pushed", True),
        (BAD, GOOD, {"pushed": 0}, "not blessed", False),
        (GOOD, BAD, {"pushed": 0}, "not blessed", False),
        ({}, {}, {}, "not blessed", False),
    ],
)
def test_states(
    blessing: dict[str, Any], serving: dict[str, Any], pushed: dict[str, Any], state: str, blessed: bool
):
    verdict = _verdict(blessing, serving, pushed)
    assert (verdict["state"], verdict["blessed"]) == (state, blessed)


def test_a_version_without_a_label_is_to_be_tried_on_a_part_of_the_traffic():
    steps = _verdict(GOOD, GOOD, {**PUSHED, "label": ""})["next_steps"]
    assert "tokenmill generate --package 'models/my model/7'" in steps[0]
    assert "tokenmill canary 'my model' --directory models --version 7 --weight 0.1" in steps[1]
    assert "`tokenmill rollback 'my model' --directory models`" in steps[1]
    assert steps[-1] == "Train longer."


def test_the_first_version_is_stable_already():
    steps = _verdict(GOOD, GOOD, {**PUSHED, "label": "stable"})["next_steps"]
    assert not any("canary" in step for step in steps)


def test_a_package_that_cannot_serve_has_a_step_of_its_own():
    verdict = _verdict(GOOD, BAD, {"pushed": 0})
    assert verdict["reasons"] == ["Good.", "Too bad."]
    assert "serving check" in verdict["next_steps"][-1]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {},
            "8.800 on 20,852 held-out tokens, 12.0% below the pretrained model "
            "(95% interval −14.0% to −10.0%).",
        ),
        ({"ratio": 1.1, "interval": [0.99, 1.2]}, "10.0% above the pretrained model"),
        ({"ratio": 1.1, "interval": [0.99, 1.2]}, "; that may be chance."),
        ({"ratio": 1.0}, "the same as the pretrained model."),
        ({"interval": None}, "12.0% below the pretrained model."),
        ({"perplexity": None}, "not finite"),
        (
            {"baseline": "pushed version 9", "baseline_version": 9, "stable_version": 4},
            ". The stable version is 4, with which it was not compared.",
        ),
    ],
)
def test_the_headline_says_the_change_and_how_sure_it_is(changes: dict[str, Any], words: str):
    assert words in headline({**FIGURES, **changes})
    assert headline({}) == ""


@pytest.mark.parametrize("stable", [None, 9])
def test_a_stable_version_that_is_the_baseline_is_not_named_again(stable: int | None):
    assert "stable" not in headline({**FIGURES, "baseline_version": 9, "stable_version": stable})
