from __future__ import annotations

from tests.fakes import EngineUnderTest, scripted


def test_a_requests_life_in_events():
    test = EngineUnderTest(scripted({"abc": "Hello"}), max_decode_steps=2)
    test.add("a", "abc", max_tokens=4)
    test.clock.advance(1.0)
    test.runner.before_step = lambda output: test.clock.advance(0.5)
    test.run()
    observer = test.observer
    assert observer.of("request_queued") == [(3,)]
    assert observer.of("prefix_cache") == [(3, 0)]
    assert observer.of("first_token") == [(1.5, 1.0)]
    assert observer.of("tokens_generated") == [(1, 0.5), (2, 0.5)]
    assert observer.of("request_finished") == [("length", 4, 2.5)]
    assert observer.of("step") == [
        ("prefill", 1, 3, 0.25),
        ("decode", 1, 1, 0.125),
        ("decode", 1, 2, 0.125),
    ]


def test_gauges_show_every_change_and_end_at_zero():
    test = EngineUnderTest(num_blocks=9)
    test.add("a", [1] * 10, max_tokens=2, ignore_eos=True)
    test.add("b", [2] * 10, max_tokens=2, ignore_eos=True)
    assert test.observer.of("gauges")[-1] == (0, 2, 0, 8)
    test.step()
    assert test.observer.of("gauges")[-1] == (2, 0, 6, 8)
    test.abort("a")
    assert test.observer.of("gauges")[-1] == (1, 0, 3, 8)
    test.run()
    assert test.observer.of("gauges")[-1] == (0, 0, 0, 8)


def test_aborts_and_errors_are_counted_by_reason():
    test = EngineUnderTest()
    test.add("a")
    test.abort("a")
    test.add("b")
    test.runner.failures += [RuntimeError(), RuntimeError()]
    test.run()
    assert [event[0] for event in test.observer.of("request_finished")] == ["abort", "error"]
    assert len(test.observer.of("preempted")) == 1


def test_a_failed_step_is_not_reported_as_run():
    test = EngineUnderTest()
    test.add("a", max_tokens=1)
    test.runner.failures.append(RuntimeError())
    test.step()
    assert test.observer.of("step") == []
