from __future__ import annotations

import asyncio

import pytest

from models.contract.errors import OverloadedError
from serving.gateway.admission import Admission


def test_places_come_back_whatever_happens():
    admission = Admission(2, 100)
    with pytest.raises(KeyError), admission.hold(2, 0):
        raise KeyError
    assert admission.in_flight == 0
    with admission.hold(2, 0):
        assert admission.in_flight == 2


def test_too_many_answers_are_refused_with_the_numbers():
    admission = Admission(3, 100)
    with admission.hold(2, 0), pytest.raises(OverloadedError, match=r"holds 2 .* at most 3; .* asks for 2"):
        admission.hold(2, 0).__enter__()
    assert admission.in_flight == 0


def test_retry_after_follows_from_how_fast_answers_end():
    now = [0.0]
    admission = Admission(1, 100, clock=lambda: now[0])
    for _ in range(5):
        with admission.hold(1, 0):
            now[0] += 4.0
    with admission.hold(1, 0), pytest.raises(OverloadedError) as caught:
        admission.hold(1, 0).__enter__()
    assert caught.value.retry_after == pytest.approx(4.0)


async def _idle_after_release() -> bool:
    admission = Admission(1, 100)
    with admission.hold(1, 0):
        waiting = asyncio.ensure_future(admission.idle())
        await asyncio.sleep(0)
        early = waiting.done()
    await asyncio.wait_for(waiting, 1)
    return not early


def test_idle_waits_for_the_last_answer():
    assert asyncio.run(_idle_after_release())


def test_prompt_bytes_are_bounded_but_one_request_is_always_taken():
    admission = Admission(9, 100)
    words = r"holds 500 bytes of prompts .* at most 100; .* brings 7"
    with admission.hold(1, 500), pytest.raises(OverloadedError, match=words):
        admission.hold(1, 7).__enter__()
    with admission.hold(1, 60), admission.hold(1, 40):
        assert admission.prompt_bytes == 100
    assert (admission.in_flight, admission.prompt_bytes) == (0, 0)
