from __future__ import annotations

from serving.engine.scheduler_output import SchedulerOutput
from tests.fakes import EngineUnderTest


def rows(output: SchedulerOutput) -> tuple[list[tuple[str, int, int]], list[str]]:
    """(id, start, count) of each prefill chunk and ids of the decode rows."""
    chunks = [(c.request_id, c.start, len(c.token_ids)) for c in output.prefills]
    return chunks, [row.request_id for row in output.decodes]


def prompt(count: int, first: int = 0) -> list[int]:
    return [(first + i) % 256 for i in range(count)]


def test_a_new_request_is_prefilled_and_then_decodes():
    test = EngineUnderTest()
    test.add("a", prompt(5), ignore_eos=True, max_tokens=4)
    test.step()
    assert rows(test.last) == ([("a", 0, 5)], [])
    assert test.last.prefills[0].is_last
    test.step()
    (row,) = test.last.decodes
    assert (row.last_id, row.length, row.block_table) == (test.ids["a"][0], 5, (1, 2))


def test_several_prompts_share_a_step_in_order_of_arrival():
    test = EngineUnderTest()
    for name in "abc":
        test.add(name, prompt(5))
    test.step()
    assert rows(test.last)[0] == [("a", 0, 5), ("b", 0, 5), ("c", 0, 5)]


def test_a_prompt_longer_than_the_budget_comes_in_chunks():
    test = EngineUnderTest(max_num_batched_tokens=20, max_num_seqs=2)
    test.add("a", prompt(50), max_tokens=2)
    seen = []
    for _ in range(3):
        test.step()
        seen.append((rows(test.last)[0], test.last.prefills[0].is_last))
    assert seen == [([("a", 0, 20)], False), ([("a", 20, 20)], False), ([("a", 40, 10)], True)]
    assert [len(o.prefills[0].block_table) for o in test.runner.outputs] == [5, 10, 13]


def test_a_long_prompt_never_stalls_running_streams():
    test = EngineUnderTest(mixed_prefill_tokens=8)
    test.add("a", prompt(4), ignore_eos=True, max_tokens=40)
    test.step()
    test.add("long", prompt(40, 7), max_tokens=2)
    for number in range(5):
        test.step()
        assert rows(test.last) == ([("long", 8 * number, 8)], ["a"])
        assert len(test.ids["a"]) == number + 2
    assert test.ids["long"]


def test_the_budget_counts_decode_rows():
    test = EngineUnderTest(max_num_batched_tokens=10, max_num_seqs=4, mixed_prefill_tokens=100)
    for name in "ab":
        test.add(name, prompt(4), ignore_eos=True, max_tokens=40)
    test.step()
    test.add("c", prompt(30, 7))
    test.step()
    assert rows(test.last) == ([("c", 0, 8)], ["a", "b"])


def test_what_does_not_fit_into_the_budget_waits():
    test = EngineUnderTest(max_num_batched_tokens=12, max_num_seqs=4)
    for name in "abc":
        test.add(name, prompt(8))
    test.step()
    assert rows(test.last)[0] == [("a", 0, 8), ("b", 0, 4)]
    assert [s.request_id for s in test.engine.scheduler.waiting] == ["c"]


def test_no_more_sequences_run_than_may():
    test = EngineUnderTest(max_num_seqs=2)
    for name in "abc":
        test.add(name, prompt(4), max_tokens=3, ignore_eos=True)
    test.step()
    assert len(test.engine.scheduler.running) == 2
    test.run()
    assert set(test.reasons) == {"a", "b", "c"}


def test_steps_grow_while_streaming_and_nobody_waits():
    test = EngineUnderTest(max_decode_steps=4)
    test.add("a", prompt(4), ignore_eos=True, max_tokens=30)
    steps = []
    for _ in range(6):
        test.step()
        steps.append(test.last.steps)
    assert steps == [1, 1, 2, 4, 4, 4]
    assert len(test.ids["a"]) == 1 + 1 + 2 + 4 + 4 + 4


def test_one_step_while_anyone_waits_or_prefills():
    test = EngineUnderTest(max_num_seqs=1)
    test.add("a", prompt(4), ignore_eos=True, max_tokens=30)
    for _ in range(4):
        test.step()
    assert test.last.steps == 4
    test.add("b", prompt(4))
    test.step()
    assert test.last.steps == 1


def test_no_more_steps_than_tokens_are_wanted_or_fit():
    test = EngineUnderTest(max_decode_steps=4, max_length=12)
    test.add("a", prompt(4), ignore_eos=True, max_tokens=7)
    test.run()
    assert [output.steps for output in test.runner.outputs] == [1, 1, 2, 3]
    full = EngineUnderTest(max_decode_steps=8, max_length=12)
    full.add("a", prompt(6), ignore_eos=True, max_tokens=6)
    full.add("b", prompt(1), ignore_eos=True, max_tokens=11)
    full.run()
    assert max(row.length + o.steps for o in full.runner.outputs for row in o.decodes) == 12
    assert {name: len(ids) for name, ids in full.ids.items()} == {"a": 6, "b": 11}


def test_positions_are_reserved_ahead():
    test = EngineUnderTest(max_decode_steps=4, block_size=2)
    test.add("a", prompt(4), ignore_eos=True, max_tokens=30)
    for _ in range(4):
        test.step()
        for row in test.last.decodes:
            assert len(row.block_table) == -(-(row.length + test.last.steps) // 2)


def test_the_youngest_is_preempted_and_recomputed_without_a_difference():
    test = EngineUnderTest(num_blocks=10, max_num_seqs=3)
    for name, first in (("a", 0), ("b", 50), ("c", 100)):
        test.add(name, prompt(8, first), ignore_eos=True, max_tokens=16)
    preempted = []
    while test.engine.has_unfinished:
        before = {s.request_id for s in test.engine.scheduler.running}
        test.step()
        waiting = {s.request_id for s in test.engine.scheduler.waiting}
        preempted += sorted(before & waiting)
        test.check_blocks()
    assert preempted[0] == "c"
    assert "a" not in preempted
    assert len(test.observer.of("preempted")) == test.engine.scheduler.num_preemptions > 0
    roomy = EngineUnderTest()
    for name, first in (("a", 0), ("b", 50), ("c", 100)):
        roomy.add(name, prompt(8, first), ignore_eos=True, max_tokens=16)
    roomy.run()
    assert test.ids == roomy.ids


def test_one_step_is_tried_before_anyone_is_preempted():
    test = EngineUnderTest(num_blocks=6, max_decode_steps=4, prefix_caching=False)
    test.add("a", prompt(7), ignore_eos=True, max_tokens=10)
    test.add("b", prompt(3), ignore_eos=True, max_tokens=4)
    test.run()
    assert test.engine.scheduler.num_preemptions == 0
    assert {name: len(ids) for name, ids in test.ids.items()} == {"a": 10, "b": 4}


def test_a_newcomer_leaves_a_block_for_each_running_sequence():
    test = EngineUnderTest(num_blocks=6)
    test.add("a", prompt(12), ignore_eos=True, max_tokens=2)
    test.step()
    test.add("b", prompt(8, 50), ignore_eos=True, max_tokens=2)
    test.step()
    assert rows(test.last) == ([], ["a"])
    test.run()
    assert set(test.reasons) == {"a", "b"}


def test_a_shared_prefix_is_computed_once():
    test = EngineUnderTest()
    test.add("a", prompt(17), max_tokens=1)
    test.run()
    test.add("b", [*prompt(16), 99, 98], max_tokens=1)
    test.step()
    assert rows(test.last)[0] == [("b", 16, 2)]
    assert test.observer.of("prefix_cache") == [(17, 0), (18, 16)]


def test_the_answer_of_a_turn_is_found_by_the_next():
    test = EngineUnderTest()
    test.add("a", prompt(8), ignore_eos=True, max_tokens=9)
    test.run()
    turn = [*prompt(8), *test.ids["a"], 1, 2, 3]
    test.add("b", turn, max_tokens=1)
    test.step()
    # The last id's KV was never written: 16 of 17 positions, which are four blocks.
    assert rows(test.last)[0] == [("b", 16, 4)]


def test_stop_ids_of_package_and_request_go_to_the_model():
    test = EngineUnderTest(next_token=lambda context, params: 65)
    test.add("a", stop_ids=(7,), max_tokens=3)
    test.add("b", ignore_eos=True, max_tokens=3)
    test.step()
    test.step()
    assert [row.stop_ids for row in test.last.decodes] == [(256, 7), ()]


def test_finished_sequences_make_room_for_waiting_ones():
    test = EngineUnderTest(num_blocks=4, max_num_seqs=8)
    for index in range(6):
        test.add(str(index), prompt(8, 20 * index), ignore_eos=True, max_tokens=3)
    test.run()
    assert len(test.reasons) == 6
    test.check_blocks()
