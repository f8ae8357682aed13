from __future__ import annotations

import pytest

from models.contract.errors import OverloadedError
from tests.fakes import EngineUnderTest


def test_the_waiting_queue_is_bounded():
    test = EngineUnderTest(max_num_seqs=2, max_waiting=3)
    for index in range(5):
        test.add(str(index))
    with pytest.raises(OverloadedError, match="5 requests are waiting") as caught:
        test.add("more")
    assert caught.value.retry_after == 1.0
    test.run()
    test.add("more")


def test_the_waiting_prompts_are_bounded():
    test = EngineUnderTest(max_waiting_tokens=20)
    test.add("a", [1] * 30)
    with pytest.raises(OverloadedError):
        test.add("b", [1])
    test.step()
    test.add("b", [1])


def test_retry_after_follows_the_drain_rate():
    test = EngineUnderTest(max_num_seqs=1, max_waiting=4)
    for index in range(3):
        test.add(f"done{index}", [1], max_tokens=1)
    for _ in range(3):
        test.step()
        test.clock.advance(10.0)
    for index in range(5):
        test.add(str(index))
    with pytest.raises(OverloadedError) as caught:
        test.add("more")
    assert caught.value.retry_after == 10.0
