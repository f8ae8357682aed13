from __future__ import annotations

from models.contract.errors import EngineError
from serving.engine.recovery import MAX_LOSSES
from tests.fakes import EngineUnderTest, FakeModelRunner


def three_requests(**limits) -> EngineUnderTest:
    test = EngineUnderTest(**limits)
    for name, first in (("a", 0), ("b", 50), ("c", 100)):
        test.add(name, list(range(first, first + 9)), ignore_eos=True, max_tokens=14)
    return test


def undisturbed() -> dict[str, list[int]]:
    test = three_requests()
    test.run()
    return test.ids


def fail_if(runner: FakeModelRunner, request_id: str) -> None:
    def before_step(output):
        if request_id in output.request_ids:
            raise RuntimeError("cannot run this one")

    runner.before_step = before_step


def test_a_lost_memory_costs_no_token_and_repeats_none():
    test = three_requests(max_num_batched_tokens=20)
    for step in range(30):
        if step in (1, 3, 6, 7):
            test.runner.lose_memory()
        test.step()
        test.check_blocks()
    assert test.ids == undisturbed()


def test_blocks_of_a_lost_memory_are_not_found_again():
    test = EngineUnderTest()
    test.add("a", list(range(12)), max_tokens=1)
    test.run()
    test.runner.lose_memory()
    test.add("b", list(range(12)), max_tokens=3)
    test.run()
    # The step that finds out started behind cached blocks; the one after it starts from nothing.
    assert [c.start for output in test.runner.outputs[1:3] for c in output.prefills] == [8, 0]


def test_a_memory_lost_again_and_again_ends_in_an_error():
    test = three_requests()
    test.runner.before_step = lambda output: test.runner.lose_memory()
    for _ in range(MAX_LOSSES):
        test.step()
    assert test.reasons == {}
    test.step()
    assert set(test.reasons.values()) == {"error"}
    test.check_blocks()


def test_a_failed_step_is_tried_again_and_nothing_is_lost_or_repeated():
    test = three_requests()
    for step in range(60):
        if step in (0, 4, 9, 20):
            test.runner.failures.append(RuntimeError("hiccup"))
        test.step()
        test.check_blocks()
    assert test.ids == undisturbed()
    assert set(test.reasons.values()) == {"length"}


def test_what_fails_twice_ends_with_an_error_and_takes_nobody_with_it():
    test = three_requests()
    test.step()
    test.step()
    fail_if(test.runner, "b")
    test.run()
    expected = undisturbed()
    assert test.reasons == {"a": "length", "b": "error", "c": "length"}
    assert (test.ids["a"], test.ids["c"]) == (expected["a"], expected["c"])
    assert test.ids["b"] == expected["b"][: len(test.ids["b"])]
    test.check_blocks()


def test_a_model_that_always_fails_ends_every_request():
    test = three_requests()
    test.runner.failures.extend(RuntimeError("dead") for _ in range(100))
    test.run(limit=20)
    assert test.reasons == {"a": "error", "b": "error", "c": "error"}
    test.check_blocks()


def test_the_cause_is_named_without_inner_details():
    test = EngineUnderTest()
    test.add("a")
    test.runner.failures += [RuntimeError("secret path"), RuntimeError("secret path")]
    test.step()
    (output,) = test.engine.step()
    assert output.error == "RuntimeError"
    test.add("b")
    test.runner.failures += [EngineError("the model server went away.")] * 2
    test.step()
    (output,) = test.engine.step()
    assert output.error == "the model server went away"


def test_a_suspect_that_finds_no_room_lets_the_others_go_on():
    test = EngineUnderTest(num_blocks=8, max_num_seqs=4, max_num_batched_tokens=12)
    test.add("a", list(range(8)), ignore_eos=True, max_tokens=12)
    test.add("b", list(range(50, 58)), ignore_eos=True, max_tokens=12)
    test.step()
    test.runner.failures.append(RuntimeError("hiccup"))
    test.run(limit=200)
    assert set(test.reasons.values()) == {"length"}
    test.check_blocks()


def test_the_order_of_arrival_outlives_a_failed_step():
    test = EngineUnderTest(max_num_batched_tokens=12, max_num_seqs=4)
    test.add("a", [1] * 4, ignore_eos=True, max_tokens=9)
    test.step()
    test.add("b", [2] * 30, max_tokens=2)
    test.step()
    test.add("c", [3] * 4, max_tokens=2)
    test.runner.failures.append(RuntimeError("hiccup"))
    test.step()
    assert [s.request_id for s in test.engine.scheduler.waiting] == ["a", "b", "c"]
