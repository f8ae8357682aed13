"""Whatever is added, stepped, aborted, lost or broken: the books balance and the answers are right."""

from __future__ import annotations

import codecs
from dataclasses import dataclass
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from models.contract.errors import ContextLengthError, OverloadedError
from models.contract.sampling_params import SamplingParams
from serving.engine.recovery import MAX_LOSSES
from serving.engine.vocabulary_mask import mask_without
from tests.fakes import BYTE_VOCAB, EOS, EngineUnderTest, first_allowed, hashed

# Few different ids, so that prefixes are shared and stop strings occur.
ALPHABET = [*b"ab", 0xC3, 0xA9, EOS]
hashed_index = hashed(997)


def next_token(context: tuple[int, ...], params: SamplingParams) -> int:
    return ALPHABET[hashed_index(context, params) % len(ALPHABET)]


@dataclass(frozen=True)
class Answer:
    ids: list[int]
    text: str
    reason: str


def alone(prompt: list[int], params: SamplingParams, max_tokens: int) -> Answer:
    """The definition of an answer: one id after the other, no batch, no blocks, no steps."""
    ids: list[int] = []
    stop_ids = (*(() if params.ignore_eos else (EOS,)), *params.stop_ids)
    while True:
        banned = stop_ids if len(ids) < params.min_tokens else ()
        mask = mask_without(len(BYTE_VOCAB), banned)
        ids.append(first_allowed(next_token((*prompt, *ids), params), mask))
        by_id = ids[-1] in stop_ids
        last = by_id or len(ids) == max_tokens
        text = text_of(ids[: len(ids) - by_id], final=last)
        ends = [(text.index(s) + len(s), text.index(s)) for s in params.stop if s in text]
        if ends:
            return Answer(ids, text[: min(ends)[1]], "stop")
        if last:
            return Answer(ids, text, "stop" if by_id else "length")


def text_of(ids: list[int], *, final: bool) -> str:
    data = b"".join(BYTE_VOCAB[i] for i in ids)
    return codecs.getincrementaldecoder("utf-8")("replace").decode(data, final)


# Most prompts begin alike, as turns of a conversation and prompts with one system text do.
prompts = st.builds(
    lambda start, tail: [*([97, 98] * 13)[:start], *tail],
    st.sampled_from([0, 8, 13, 16, 26]),
    st.lists(st.sampled_from(ALPHABET), min_size=1, max_size=6),
)
all_params = st.builds(
    SamplingParams,
    max_tokens=st.sampled_from([14, 9, 4, 1]),
    seed=st.integers(0, 3),
    ignore_eos=st.sampled_from([True, True, False]),
    stop_ids=st.sampled_from([(), (), (98,)]),
    stop=st.lists(st.sampled_from(["ab", "aab", "é", "bé", "\ufffd"]), max_size=2).map(tuple),
    **{
        name: st.sampled_from([neutral, neutral, neutral, other])
        for name, neutral, other in (
            ("repetition_penalty", 1.0, 1.2),
            ("frequency_penalty", 0.0, 0.5),
            ("logit_bias", (), ((7, 1.0),)),
            ("min_tokens", 0, 1),
        )
    },
)
limits = st.builds(
    lambda block_size, kv_tokens, **others: {
        "block_size": block_size,
        "num_blocks": kv_tokens // block_size + 1,
        **others,
    },
    block_size=st.sampled_from([1, 2, 4]),
    kv_tokens=st.integers(36, 120),
    max_num_seqs=st.sampled_from([4, 3, 2, 1]),
    max_num_batched_tokens=st.sampled_from([40, 20, 9, 6]),
    mixed_prefill_tokens=st.sampled_from([16, 7, 1]),
    max_decode_steps=st.sampled_from([5, 4, 1]),
    max_waiting=st.sampled_from([4, 1]),
    prefix_caching=st.sampled_from([True, True, False]),
    speculation=st.sampled_from([True, True, False]),
    max_speculative_rows=st.sampled_from([4, 2, 1]),
    max_draft_tokens=st.sampled_from([6, 3, 1]),
    max_bulk_steps=st.sampled_from([8, 1]),
)


class EngineMachine(RuleBasedStateMachine):
    @initialize(limits=limits)
    def start(self, limits: dict[str, Any]) -> None:
        self.test = EngineUnderTest(next_token, max_length=40, **limits)
        self.expected: dict[str, Answer] = {}
        self.losses = 0
        self.count = 0

    @rule(
        prompt=prompts,
        params=all_params,
        tenant=st.sampled_from(["", "", "other"]),
        cap=st.booleans(),
        stream=st.booleans(),
    )
    def add(self, prompt: list[int], params: SamplingParams, tenant: str, cap: bool, stream: bool) -> None:
        config = self.test.config
        room = min(config.max_length, config.max_tokens_in_blocks) - len(prompt)
        self.count += 1
        name = str(self.count)
        try:
            options = {"tenant": tenant, "cap_max_tokens": cap, "stream": stream}
            self.test.engine.add_request(name, prompt, params, **options)
        except ContextLengthError:
            assert room < 1 or (params.max_tokens > room and not cap)
        except OverloadedError:
            assert self.test.engine.num_unfinished >= config.max_waiting
        else:
            self.expected[name] = alone(prompt, params, min(params.max_tokens, room))

    @rule(steps=st.integers(1, 6))
    def step(self, steps: int) -> None:
        for _ in range(steps):
            self.test.step()
            self.losses = 0
            self.balance()

    @rule(data=st.data())
    def abort(self, data: st.DataObject) -> None:
        unfinished = [name for name in self.expected if name not in self.test.reasons]
        if unfinished:
            self.test.abort(data.draw(st.sampled_from(unfinished)))

    @rule()
    def lose_memory(self) -> None:
        if self.losses < MAX_LOSSES - 1:
            self.losses += 1
            self.test.runner.lose_memory()
            self.test.step()

    @rule()
    def fail_once(self) -> None:
        # One failure at a time, so that nobody meets two in a row: every answer must be complete.
        failing = any(s.num_failures for s in self._sequences())
        if self.test.engine.has_unfinished and not failing:
            self.test.runner.failures.append(RuntimeError("hiccup"))
            self.test.step()
            self.test.runner.failures.clear()

    @invariant()
    def balance(self) -> None:
        if hasattr(self, "test"):
            self.test.check_blocks()
            self.check_answers()

    def check_answers(self) -> None:
        test = self.test
        for name, answer in self.expected.items():
            ids, reason = test.ids.get(name, []), test.reasons.get(name)
            if reason in (None, "abort"):
                assert ids == answer.ids[: len(ids)]
                assert reason == "abort" or answer.text.startswith(test.text.get(name, ""))
            else:
                assert (ids, test.text[name], reason) == (answer.ids, answer.text, answer.reason)

    def _sequences(self) -> list[Any]:
        scheduler = self.test.engine.scheduler
        return [*scheduler.running, *scheduler.waiting]

    def teardown(self) -> None:
        if not hasattr(self, "test"):
            return
        self.test.run()
        self.balance()
        assert set(self.test.reasons) == set(self.expected)
        assert self.test.engine.scheduler.blocks.num_used == 0
        assert set(self.test.reasons.values()) <= {"stop", "length", "abort"}


TestEngine = EngineMachine.TestCase
TestEngine.settings = settings(max_examples=100, stateful_step_count=30, deadline=None)
