"""Requests with penalties, biases or a least length: their rows go through `decode_full`."""

from __future__ import annotations

import pytest

from models.contract.errors import InvalidRequestError
from models.contract.sampling_params import SamplingParams
from models.contract.signatures import MANDATORY
from tests.fakes import EOS, EngineUnderTest, hashed


def test_all_but_the_last_prompt_token_are_prefilled_and_the_first_id_comes_from_a_full_row():
    test = EngineUnderTest()
    test.add("a", [5, 6, 7, 8], repetition_penalty=1.5, max_tokens=3, ignore_eos=True)
    test.step()
    (chunk,) = test.last.prefills
    assert (chunk.token_ids, chunk.is_last) == ((5, 6, 7), False)
    assert test.ids.get("a", []) == []
    test.step()
    (full,) = test.last.fulls
    assert (full.row.last_id, full.row.length, full.row.block_table) == (8, 3, (1,))
    assert (full.history, full.generated_from, full.allowed) == ((5, 6, 7, 8), 4, b"")
    test.step()
    (full,) = test.last.fulls
    assert (full.history, full.generated_from) == ((5, 6, 7, 8, test.ids["a"][0]), 4)
    test.run()
    assert len(test.ids["a"]) == 3
    test.check_blocks()


def test_the_prompt_is_sent_only_to_the_penalty_that_looks_at_it():
    test = EngineUnderTest()
    test.add("a", [5, 6, 7], presence_penalty=1.0, max_tokens=9, ignore_eos=True)
    test.add("b", [5, 6, 7], logit_bias=((9, 5.0),), max_tokens=9, ignore_eos=True)
    for _ in range(3):
        test.step()
    a, b = test.last.fulls
    assert (a.history, a.generated_from) == (tuple(test.ids["a"][:1]), 0)
    assert (b.history, b.generated_from, b.row.params.logit_bias) == ((), 0, ((9, 5.0),))


def test_a_prompt_of_one_token_needs_no_prefill():
    test = EngineUnderTest()
    test.add("a", [5], frequency_penalty=0.5, max_tokens=2, ignore_eos=True)
    test.clock.advance(1.0)
    test.run()
    assert [len(output.prefills) for output in test.runner.outputs] == [0, 0]
    assert len(test.ids["a"]) == 2
    assert test.observer.of("prefix_cache") == [(1, 0)]
    assert test.observer.of("first_token") == [(1.0, 1.0)]
    test.check_blocks()


def test_no_end_id_before_the_least_length():
    answer = [65, EOS, 66, EOS, 67]
    test = EngineUnderTest(lambda context, params: answer[len(context) - 3], max_decode_steps=1)
    test.add("a", "abc", min_tokens=3, max_tokens=9, stop_ids=(66,))
    test.run()
    # In place of an end id the fake takes the next one that is allowed: 0 and 67.
    assert (test.ids["a"], test.reasons["a"]) == ([65, 0, 67, EOS], "stop")
    kinds = [(len(output.fulls), len(output.decodes)) for output in test.runner.outputs]
    assert kinds == [(0, 0), (1, 0), (1, 0), (1, 0), (0, 1)]
    masks = [full.allowed for output in test.runner.outputs for full in output.fulls]
    assert len(masks[0]) == 4 * 9
    allowed = int.from_bytes(masks[0], "little")
    assert [i for i in range(257) if not allowed >> i & 1] == [66, EOS]
    assert allowed >> 257 == 0


def test_plain_and_full_rows_share_a_step():
    test = EngineUnderTest()
    test.add("plain", [1, 2, 3], max_tokens=12, ignore_eos=True)
    test.add("full", [4, 5, 6], presence_penalty=0.5, max_tokens=12, ignore_eos=True)
    for _ in range(5):
        test.step()
    assert [row.request_id for row in test.last.decodes] == ["plain"]
    assert [full.row.request_id for full in test.last.fulls] == ["full"]
    assert (test.last.steps, test.last.request_ids) == (1, ("plain", "full"))
    test.run()
    alone = EngineUnderTest()
    alone.add("plain", [1, 2, 3], max_tokens=12, ignore_eos=True)
    alone.run()
    assert test.ids["plain"] == alone.ids["plain"]


def test_steps_of_both_kinds_are_reported_as_decoding():
    test = EngineUnderTest()
    test.add("plain", [1, 2, 3], max_tokens=3, ignore_eos=True)
    test.add("full", [4, 5, 6], presence_penalty=0.5, max_tokens=3, ignore_eos=True)
    test.run()
    assert ("decode", 2, 2, 0.125) in test.observer.of("step")


def test_what_was_lost_is_prefilled_up_to_the_last_known_token():
    test = EngineUnderTest(hashed())
    test.add("a", [4, 5, 6], presence_penalty=0.5, max_tokens=8, ignore_eos=True)
    for number in range(20):
        if number in (3, 7):
            test.runner.lose_memory()
        if number == 5:
            test.runner.failures.append(RuntimeError("hiccup"))
        test.step()
        test.check_blocks()
    undisturbed = EngineUnderTest(hashed())
    undisturbed.add("a", [4, 5, 6], presence_penalty=0.5, max_tokens=8, ignore_eos=True)
    undisturbed.run()
    assert test.ids == undisturbed.ids
    assert not any(chunk.is_last for output in test.runner.outputs for chunk in output.prefills)


@pytest.mark.parametrize(
    ("params", "field"),
    [
        ({"repetition_penalty": 1.2}, "repetition_penalty"),
        ({"frequency_penalty": 0.1}, "frequency_penalty"),
        ({"presence_penalty": -0.1}, "presence_penalty"),
        ({"logit_bias": ((1, 2.0),)}, "logit_bias"),
        ({"min_tokens": 2}, "min_tokens"),
    ],
)
def test_a_package_that_cannot_change_logits_refuses_by_name(params, field):
    test = EngineUnderTest(signatures=MANDATORY)
    with pytest.raises(InvalidRequestError, match=f"`{field}` is .*no signature `decode_full`") as caught:
        test.add("a", **params)
    assert caught.value.field == field
    assert not test.engine.has_unfinished
    test.add("b", max_tokens=1)
    test.run()


def test_a_bias_on_an_id_outside_the_vocabulary_is_refused():
    with pytest.raises(InvalidRequestError, match="has id 257, which is not in the vocabulary"):
        EngineUnderTest().add("a", logit_bias=((257, 1.0),))


def test_parameters_tell_whether_they_change_logits():
    assert not SamplingParams().changes_logits
    assert SamplingParams(min_tokens=1).changes_logits
    assert not SamplingParams(min_tokens=1).penalises
    assert SamplingParams(presence_penalty=0.1).penalises
