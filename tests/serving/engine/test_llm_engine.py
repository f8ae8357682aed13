from __future__ import annotations

import pytest

from models.contract.errors import ContextLengthError, InvalidRequestError
from models.contract.sampling_params import SamplingParams
from serving.engine.finish_reason import FinishReason
from tests.fakes import EOS, EngineUnderTest, hashed, scripted


def test_an_answer_streams_until_the_end_id():
    test = EngineUnderTest(scripted({"abc": "Hello, €!"}))
    test.add("a", "abc", max_tokens=50)
    test.run()
    assert (test.text["a"], test.reasons["a"]) == ("Hello, €!", "stop")
    assert test.ids["a"] == [*"Hello, €!".encode(), EOS]


def test_an_answer_ends_at_max_tokens():
    test = EngineUnderTest(scripted({"abc": "Hello"}))
    test.add("a", "abc", max_tokens=3)
    test.run()
    assert (test.text["a"], test.reasons["a"], len(test.ids["a"])) == ("Hel", "length", 3)


def test_a_single_token():
    test = EngineUnderTest(scripted({"abc": "Hello"}))
    test.add("a", "abc", max_tokens=1)
    test.step()
    assert (test.text["a"], test.reasons["a"]) == ("H", "length")
    assert not test.engine.has_unfinished


def test_the_end_id_can_be_ignored():
    test = EngineUnderTest(scripted({"abc": [65, EOS, 66, 67]}))
    test.add("a", "abc", max_tokens=3, ignore_eos=True)
    test.run()
    assert (test.text["a"], test.reasons["a"]) == ("AB", "length")


def test_a_stop_string_across_tokens_and_steps():
    test = EngineUnderTest(scripted({"abc": "one\n\ntwo"}))
    test.add("a", "abc", max_tokens=20, stop=("\n\n",))
    test.run()
    assert (test.text["a"], test.reasons["a"]) == ("one", "stop")
    test.check_blocks()


def test_a_request_id_in_use_is_refused_and_free_again_afterwards():
    test = EngineUnderTest()
    test.add("a", max_tokens=2)
    with pytest.raises(InvalidRequestError, match="'a' is in use"):
        test.add("a")
    test.run()
    test.engine.add_request("a", [1], SamplingParams(max_tokens=2))
    assert test.engine.num_unfinished == 1


def test_a_refused_request_leaves_nothing_behind():
    test = EngineUnderTest()
    with pytest.raises(InvalidRequestError, match="257 at position 1"):
        test.add("a", [5, 257])
    assert not test.engine.has_unfinished
    assert test.observer.events == []
    test.add("a")


def test_an_answer_nobody_gave_a_length_ends_with_the_context():
    test = EngineUnderTest(max_length=64)
    test.add("b", [1] * 60, max_tokens=16, cap_max_tokens=True, ignore_eos=True)
    test.run()
    assert (len(test.ids["b"]), test.reasons["b"]) == (4, "length")


def test_the_longest_request_that_fits_uses_every_block():
    test = EngineUnderTest(num_blocks=5, block_size=4)
    with pytest.raises(ContextLengthError):
        test.add("a", [1] * 10, max_tokens=8)
    test.add("b", [1] * 10, max_tokens=7, ignore_eos=True)
    test.run()
    assert len(test.ids["b"]) == 7


def phase_waiting(test: EngineUnderTest) -> None:
    test.add("other", [9] * 5, ignore_eos=True, max_tokens=20)
    test.add("a", [1] * 20, ignore_eos=True, max_tokens=20)


def phase_between_chunks(test: EngineUnderTest) -> None:
    phase_waiting(test)
    test.step()
    test.step()
    (sequence,) = [s for s in test.engine.scheduler.running if s.request_id == "a"]
    assert sequence.is_prefilling
    assert sequence.num_computed > 0


def phase_first_token(test: EngineUnderTest) -> None:
    phase_waiting(test)
    while "a" not in test.ids:
        test.step()


def phase_decoding(test: EngineUnderTest) -> None:
    phase_first_token(test)
    for _ in range(4):
        test.step()


def phase_preempted(test: EngineUnderTest) -> None:
    phase_decoding(test)
    (sequence,) = [s for s in test.engine.scheduler.running if s.request_id == "a"]
    test.engine.scheduler.preempt(sequence)


@pytest.mark.parametrize(
    "phase", [phase_waiting, phase_between_chunks, phase_first_token, phase_decoding, phase_preempted]
)
def test_abort_in_every_phase_frees_everything_at_once_and_disturbs_nobody(phase):
    test = EngineUnderTest(mixed_prefill_tokens=8, max_num_seqs=4, max_num_batched_tokens=10)
    phase(test)
    had = len(test.ids.get("a", []))
    test.abort("a")
    test.abort("a")
    test.check_blocks()
    assert test.reasons["a"] == "abort"
    assert {s.request_id for s in test.engine.scheduler.running} <= {"other"}
    assert "a" not in {s.request_id for s in test.engine.scheduler.waiting}
    test.run()
    assert len(test.ids["a"]) == had
    alone = EngineUnderTest()
    alone.add("other", [9] * 5, ignore_eos=True, max_tokens=20)
    alone.run()
    assert test.ids["other"] == alone.ids["other"]
    test.check_blocks()


def test_aborting_the_unknown_and_the_finished_does_nothing():
    test = EngineUnderTest()
    assert test.engine.abort_request("nobody") is None
    test.add("a", max_tokens=1)
    test.run()
    assert test.engine.abort_request("a") is None


def test_abort_gives_the_text_held_back():
    test = EngineUnderTest(scripted({"abc": "xEN then"}), max_decode_steps=1)
    test.add("a", "abc", max_tokens=50, stop=("END",))
    while len(test.ids.get("a", [])) < 3:
        test.step()
    assert test.text["a"] == "x"
    output = test.engine.abort_request("a")
    assert (output.text_delta, output.finish_reason) == ("EN", FinishReason.ABORT)


def test_generate_gives_one_merged_output_per_prompt_in_order():
    test = EngineUnderTest(scripted({"a": "first", "b": "second"}), max_num_seqs=1, max_waiting=1)
    outputs = test.engine.generate([b"a", b"b", b"a"], SamplingParams(max_tokens=20))
    assert [output.text_delta for output in outputs] == ["first", "second", "first"]
    assert {output.finish_reason for output in outputs} == {FinishReason.STOP}
    assert [output.num_output_tokens for output in outputs] == [6, 7, 6]
    assert [len(output.tokens) for output in outputs] == [6, 7, 6]


def test_generate_checks_all_prompts_before_it_runs_any():
    test = EngineUnderTest()
    with pytest.raises(InvalidRequestError):
        test.engine.generate([[1], []], SamplingParams())
    assert test.runner.outputs == []


def test_a_step_without_work_runs_nothing():
    test = EngineUnderTest()
    assert test.engine.step() == []
    assert test.runner.outputs == []


def test_a_seed_decides_a_requests_tokens_whoever_shares_its_batch():
    together = EngineUnderTest(hashed())
    for name, seed in (("a", 1), ("b", 2), ("c", 1)):
        together.add(name, [5, 6, 7], seed=seed, ignore_eos=True, max_tokens=12)
    together.run()
    assert together.ids["a"] == together.ids["c"] != together.ids["b"]


def test_cached_tokens_are_reported():
    test = EngineUnderTest()
    test.add("a", list(range(12)), max_tokens=1)
    test.run()
    test.engine.add_request("b", list(range(12)), SamplingParams(max_tokens=1))
    (output,) = test.engine.step()
    assert output.num_cached_tokens == 8
