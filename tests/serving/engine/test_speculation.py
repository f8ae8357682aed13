from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.contract.sampling_params import SamplingParams
from tests.fakes import EOS, EngineUnderTest, hashed, scripted

COPY = [*b"one two three four five six seven eight nine ten"] * 2


def repeating(period: int, salt: int = 0):
    """A model that goes round in circles of a length, with a surprise now and then."""
    surprise = hashed(7)

    def next_token(context: tuple[int, ...], params: SamplingParams) -> int:
        if surprise(context, params) == salt:
            return 200 + len(context) % 50
        return context[-period] if len(context) >= period else 65

    return next_token


def run(next_token, *, speculation: bool, requests: int = 1, **limits) -> EngineUnderTest:
    test = EngineUnderTest(next_token, speculation=speculation, **{"max_length": 256, **limits})
    for index in range(requests):
        params = {"seed": index, "max_tokens": 60, "ignore_eos": True}
        test.add(str(index), [index, *b"abcabcabc"], **params)
    while test.engine.has_unfinished:
        test.step()
        test.check_blocks()
    return test


def test_a_copied_text_takes_few_steps():
    answer = bytes(COPY[:48]).decode()
    test = EngineUnderTest(scripted({answer + "|": answer}), max_length=256)
    test.add("a", answer + "|", max_tokens=100)
    test.run()
    assert (test.text["a"], test.reasons["a"]) == (answer, "stop")
    # Three to find the place, then drafts of 4, 8 and 16.
    assert len(test.runner.outputs) <= 12
    speculation = test.engine.scheduler.speculation
    assert speculation.num_accepted > 30
    guessed = test.observer.of("guessed")
    totals = (sum(drafted for drafted, _ in guessed), sum(right for _, right in guessed))
    assert totals == (speculation.num_drafted, speculation.num_accepted)


@settings(deadline=None, max_examples=60)
@given(
    period=st.integers(1, 9),
    salt=st.integers(0, 7),
    requests=st.integers(1, 3),
    max_draft_tokens=st.integers(1, 16),
    num_blocks=st.sampled_from([20, 30, 65]),
)
def test_answers_are_the_same_with_and_without(period, salt, requests, max_draft_tokens, num_blocks):
    model = repeating(period, salt)
    limits = {"num_blocks": num_blocks, "max_speculative_rows": 3, "max_draft_tokens": max_draft_tokens}
    plain = run(model, speculation=False, requests=requests, num_blocks=num_blocks)
    guessed = run(model, speculation=True, requests=requests, **limits)
    assert (guessed.ids, guessed.text, guessed.reasons) == (plain.ids, plain.text, plain.reasons)
    assert not any(output.verifies for output in plain.runner.outputs)


def test_an_end_id_within_a_right_guess_ends_the_answer():
    test = EngineUnderTest(lambda context, params: [*b"abcd", EOS][len(context) % 5], max_length=256)
    test.add("a", [*b"abcd", EOS] * 4, max_tokens=50, ignore_eos=True)
    test.run()
    assert any(EOS in verify.draft_ids for output in test.runner.outputs for verify in output.verifies)
    test.add("b", [*b"abcd", EOS, *b"abcd", EOS, *b"ab"], max_tokens=50)
    test.run()
    assert (test.ids["b"], test.reasons["b"]) == ([*b"cd", EOS], "stop")
    test.check_blocks()


def test_a_guess_never_goes_beyond_what_is_wanted_or_fits():
    for max_length, max_tokens in ((64, 7), (32, 17)):
        test = EngineUnderTest(repeating(3, 99), max_length=max_length)
        test.add("a", b"abcabcabcabcabc".decode(), max_tokens=max_tokens, ignore_eos=True)
        test.run()
        assert (len(test.ids["a"]), test.reasons["a"]) == (max_tokens, "length")
        for output in test.runner.outputs:
            for verify in output.verifies:
                assert verify.row.length + len(verify.draft_ids) < min(max_length, 14 + max_tokens + 1)


def test_positions_of_a_guess_are_reserved():
    test = run(repeating(3, 99), speculation=True, block_size=2, num_blocks=200)
    seen = [verify for output in test.runner.outputs for verify in output.verifies]
    assert seen
    for verify in seen:
        assert len(verify.row.block_table) == -(-(verify.row.length + 1 + len(verify.draft_ids)) // 2)


def test_where_blocks_are_short_nobody_guesses_instead_of_preempting():
    test = run(repeating(3, 99), speculation=True, num_blocks=19, block_size=4)
    assert test.engine.scheduler.num_preemptions == 0


def test_rows_without_a_guess_are_verified_together_with_those_that_have_one():
    test = EngineUnderTest(repeating(3, 99), max_length=256)
    test.add("a", "abcabcabcabc", max_tokens=40, ignore_eos=True)
    test.add("b", "xyz", max_tokens=2, ignore_eos=True)
    test.step()
    test.step()
    assert [(v.row.request_id, len(v.draft_ids)) for v in test.last.verifies] == [("a", 4), ("b", 0)]
    assert test.last.decodes == ()
    assert test.last.request_ids == ("a", "b")


@pytest.mark.parametrize("limits", [{"speculation": False}, {"signatures": ("prefill", "decode")}])
def test_without_it_or_without_the_signature_nobody_guesses(limits):
    test = EngineUnderTest(repeating(3, 99), max_length=256, **limits)
    test.add("a", "abcabcabcabc", max_tokens=40, ignore_eos=True)
    test.run()
    assert not any(output.verifies for output in test.runner.outputs)


def test_many_rows_do_not_guess():
    test = EngineUnderTest(repeating(3, 99), max_length=256, max_speculative_rows=2)
    for name in "abc":
        test.add(name, "abcabcabcabc", max_tokens=10, ignore_eos=True)
    test.step()
    test.step()
    assert test.last.verifies == ()


def test_guesses_that_are_always_wrong_become_rare():
    def next_token(context, params):
        # Every fourth id is new, so that the ending is known and what follows it is not.
        place = len(context) % 4
        return 65 + place if place < 3 else 100 + len(context) // 4 % 150

    test = EngineUnderTest(next_token, max_length=1024, num_blocks=300, max_decode_steps=3)
    test.add("a", [65, 66, 67, 99], max_tokens=600, ignore_eos=True)
    test.run()
    guesses = sum(bool(output.verifies) for output in test.runner.outputs)
    assert 1 <= guesses <= 8


def test_after_a_lost_memory_and_a_failed_step_the_answer_is_the_same():
    test = EngineUnderTest(repeating(4, 3), max_length=256)
    test.add("a", "abcdabcdabcd", max_tokens=60, ignore_eos=True)
    number = 0
    while test.engine.has_unfinished:
        number += 1
        if number in (4, 9):
            test.runner.lose_memory()
        if number in (6, 12):
            test.runner.failures.append(RuntimeError("hiccup"))
        test.step()
        test.check_blocks()
    plain = EngineUnderTest(repeating(4, 3), max_length=256, speculation=False)
    plain.add("a", "abcdabcdabcd", max_tokens=60, ignore_eos=True)
    plain.run()
    assert test.ids == plain.ids
