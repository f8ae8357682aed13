from __future__ import annotations

import pytest
from pydantic import ValidationError

from preprocessing.span_window import SpanWindow

SPANS = (2, 9, 4, 7)


@pytest.mark.parametrize(
    ("window", "chosen", "words"),
    [
        ({}, (9,), "the newest span"),
        ({"newest": 2}, (7, 9), "the newest 2 spans"),
        ({"newest": 9}, (2, 4, 7, 9), "the newest 9 spans"),
        ({"newest": 2, "last": 7}, (4, 7), "the newest 2 spans up to 7"),
        ({"first": 4}, (4, 7, 9), "the spans from 4 on"),
        ({"first": 3, "last": 7}, (4, 7), "the spans from 3 up to 7"),
        ({"last": 4}, (2, 4), "the spans up to 4"),
        ({"first": 10}, (), "the spans from 10 on"),
    ],
)
def test_a_window_chooses_among_the_spans_there_are(window, chosen, words):
    assert SpanWindow(**window).choose(SPANS) == chosen
    assert str(SpanWindow(**window)) == words


def test_there_may_be_no_spans():
    assert SpanWindow().choose([]) == ()


@pytest.mark.parametrize(
    ("window", "message"),
    [
        ({"newest": 2, "first": 1}, "exclude each other"),
        ({"first": 5, "last": 4}, "last 4 lies before first 5"),
        ({"newest": 0}, "greater than or equal to 1"),
        ({"first": -1}, "greater than or equal to 0"),
    ],
)
def test_contradictions_are_refused(window, message):
    with pytest.raises(ValidationError, match=message):
        SpanWindow(**window)
