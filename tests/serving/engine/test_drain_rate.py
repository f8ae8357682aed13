from __future__ import annotations

from serving.engine.drain_rate import DrainRate


def rate(*times: float) -> DrainRate:
    drain_rate = DrainRate()
    for time in times:
        drain_rate.finished(time)
    return drain_rate


def test_nothing_known_is_one_second():
    assert rate().retry_after(5) == rate(3.0).retry_after(5) == rate(3.0, 3.0).retry_after(5) == 1.0


def test_the_time_until_as_many_have_left():
    assert rate(0.0, 2.0, 4.0).retry_after(3) == 6.0


def test_never_below_a_second_nor_above_a_minute():
    assert rate(0.0, 0.001).retry_after(1) == 1.0
    assert rate(0.0, 100.0).retry_after(1) == 60.0


def test_only_the_last_few_count():
    assert rate(*range(100), 200.0, *range(201, 240)).retry_after(10) == 10.0
