from __future__ import annotations

from serving.engine.finish_reason import FinishReason
from serving.engine.request_output import RequestOutput
from serving.engine.token_output import TokenOutput


def test_merging_joins_what_is_new_and_takes_the_later_state():
    first = RequestOutput("r", "ab", (TokenOutput(1, -0.1),), None, 5, 1, 4)
    last = RequestOutput("r", "c", (TokenOutput(2, -0.2),), FinishReason.ERROR, 5, 2, 4, "why")
    merged = first.merge(last)
    assert merged == RequestOutput(
        "r", "abc", (TokenOutput(1, -0.1), TokenOutput(2, -0.2)), FinishReason.ERROR, 5, 2, 4, "why"
    )
    assert (first.finished, merged.finished) == (False, True)
