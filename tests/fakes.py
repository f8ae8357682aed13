"""Fakes for everything around the engine: a model that is a function, a clock, a recording observer."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from typing import Any

from models.contract.sampling_params import SamplingParams
from serving.engine.engine_config import EngineConfig
from serving.engine.full_row import FullRow
from serving.engine.llm_engine import LLMEngine
from serving.engine.scheduler_output import SchedulerOutput
from serving.engine.step_result import StepResult
from serving.engine.token_output import TokenOutput
from serving.engine.verify_row import VerifyRow

NextToken = Callable[[tuple[int, ...], SamplingParams], int]
"""The id that follows a context."""

EOS = 256
BYTE_VOCAB = [bytes([i]) for i in range(256)] + [b""]
"""One id per byte, and an end id without text."""


def hashed(vocab_size: int = len(BYTE_VOCAB)) -> NextToken:
    """A model whose next id depends on every id before it, on the seed and on nothing else."""

    def next_token(context: tuple[int, ...], params: SamplingParams) -> int:
        return zlib.crc32(repr((context, params.seed)).encode()) % vocab_size

    return next_token


def scripted(answers: dict[str, str | list[int]]) -> NextToken:
    """A model that answers known prompts byte by byte, or with the given ids, and then ends."""
    table = {
        tuple(prompt.encode()): list(answer.encode()) if isinstance(answer, str) else answer
        for prompt, answer in answers.items()
    }

    def next_token(context: tuple[int, ...], params: SamplingParams) -> int:
        prompt = max((p for p in table if context[: len(p)] == p), key=len)
        answer = table[prompt][len(context) - len(prompt) :]
        return answer[0] if answer else EOS

    return next_token


def first_allowed(token_id: int, allowed: bytes) -> int:
    """The id, or the next one round the vocabulary that a mask allows; an empty mask allows all."""
    mask = int.from_bytes(allowed, "little")
    while allowed and not mask >> token_id & 1:
        token_id = (token_id + 1) % len(BYTE_VOCAB)
    return token_id


class FakeClock:
    """Seconds that pass only when told."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += seconds


class FakeModelRunner:
    """Keeps ids in blocks exactly where a model would keep their KV, and reads contexts from there.

    A wrong block table, a block shared by mistake or KV that was never written therefore changes
    the answer or raises.
    """

    def __init__(self, next_token: NextToken, config: EngineConfig) -> None:
        self.next_token = next_token
        self.config = config
        self.block_size = config.block_size
        self.memory: dict[tuple[int, int], int] = {}
        self.nonce = self._known_nonce = 1
        self.outputs: list[SchedulerOutput] = []
        self.failures: list[Exception] = []
        self.violations: list[Exception] = []
        self.before_step: Callable[[SchedulerOutput], None] = lambda output: None

    def lose_memory(self) -> None:
        """What a restart of the server does."""
        self.memory.clear()
        self.nonce += 1

    def execute(self, output: SchedulerOutput) -> StepResult:
        self.outputs.append(output)
        self.before_step(output)
        lost = self.nonce != self._known_nonce
        try:
            prefills = tuple(
                self._run(list(c.token_ids), c.start, c.block_table, c.params, lost) for c in output.prefills
            )
            decodes = tuple(self._decode(row, output.steps, lost) for row in output.decodes)
            fulls = tuple(self._full(full, lost) for full in output.fulls)
            verifies = tuple(self._verify(verify, lost) for verify in output.verifies)
        except (AssertionError, LookupError) as violation:
            # The engine would take this for a failed step and recover from it.
            self.violations.append(violation)
            raise
        if self.failures:
            raise self.failures.pop(0)
        self._known_nonce = self.nonce
        return StepResult(prefills, decodes, self.nonce, 0.25, 0.125, fulls, verifies)

    def tokenize(self, texts: Sequence[str]) -> list[list[int]]:
        return [list(text.encode()) for text in texts]

    def detokenize(self, ids: Sequence[Sequence[int]]) -> list[str]:
        return [b"".join(BYTE_VOCAB[i] for i in row).decode("utf-8", "replace") for row in ids]

    def _decode(self, row: Any, steps: int, lost: bool) -> tuple[TokenOutput, ...]:
        made: list[TokenOutput] = []
        token, length = row.last_id, row.length
        for _ in range(steps):
            made.append(self._run([token], length, row.block_table, row.params, lost))
            token, length = made[-1].id, length + 1
        stops = [i for i, token in enumerate(made) if token.id in row.stop_ids]
        return tuple(made[: stops[0] + 1] if stops else made)

    def _full(self, full: FullRow, lost: bool) -> TokenOutput:
        row, params = full.row, full.row.params
        assert params.changes_logits
        context = self._context([row.last_id], row.length, row.block_table, lost)
        if params.penalises and not lost:
            assert context[-len(full.history) :] == full.history or not full.history
            assert params.repetition_penalty == 1 or full.history == context
        token = self.next_token(context, params)
        return TokenOutput(first_allowed(token, full.allowed), -0.5)

    def _verify(self, verify: VerifyRow, lost: bool) -> tuple[TokenOutput, ...]:
        row = verify.row
        ids = [row.last_id, *verify.draft_ids]
        context = self._context(ids, row.length, row.block_table, lost)
        made: list[TokenOutput] = []
        for known in range(row.length + 1, len(context) + 1):
            made.append(TokenOutput(self.next_token(context[:known], row.params), -0.5))
            if context[known : known + 1] != (made[-1].id,):
                break
        return tuple(made)

    def _run(
        self, ids: list[int], start: int, table: Sequence[int], params: SamplingParams, lost: bool
    ) -> TokenOutput:
        return TokenOutput(self.next_token(self._context(ids, start, table, lost), params), -0.5)

    def _context(self, ids: list[int], start: int, table: Sequence[int], lost: bool) -> tuple[int, ...]:
        """All tokens up to these, which are written where their KV would be."""
        assert ids
        for position, token in enumerate(ids, start):
            block = table[position // self.block_size]
            assert 0 < block < self.config.num_blocks
            assert position < self.config.max_length
            self.memory[block, position % self.block_size] = token
        slots = [(table[p // self.block_size], p % self.block_size) for p in range(start + len(ids))]
        return tuple(self.memory.get(slot, 0) if lost else self.memory[slot] for slot in slots)


class RecordingObserver:
    """Notes the engine's events in order."""

    def __init__(self) -> None:
        self.events: list[tuple[Any, ...]] = []

    def __getattr__(self, name: str) -> Callable[..., None]:
        if name.startswith("_"):
            raise AttributeError(name)
        return lambda *values: self.events.append((name, *values))

    def of(self, name: str) -> list[tuple[Any, ...]]:
        """Values of all events of a name."""
        return [event[1:] for event in self.events if event[0] == name]


class EngineUnderTest:
    """An engine with all its fakes at hand, and the text and ids each request got so far."""

    def __init__(self, next_token: NextToken | None = None, **limits: Any) -> None:
        sizes = {"vocab_size": len(BYTE_VOCAB), "max_length": 64, "block_size": 4, "num_blocks": 65}
        self.config = EngineConfig(**{**sizes, **limits})
        self.runner = FakeModelRunner(next_token or hashed(), self.config)
        self.clock = FakeClock()
        self.observer = RecordingObserver()
        self.engine = LLMEngine(self.runner, self.config, BYTE_VOCAB, (EOS,), self.clock, self.observer)
        self.text: dict[str, str] = {}
        self.ids: dict[str, list[int]] = {}
        self.reasons: dict[str, str] = {}

    def add(self, request_id: str, prompt: str | list[int] = "abc", **params: Any) -> None:
        options = {
            name: params.pop(name) for name in ("tenant", "cap_max_tokens", "stream") if name in params
        }
        ids = list(prompt.encode()) if isinstance(prompt, str) else prompt
        self.engine.add_request(request_id, ids, SamplingParams(**params), **options)

    def step(self) -> None:
        self.take(self.engine.step())

    def run(self, limit: int = 1000) -> None:
        for _ in range(limit):
            if not self.engine.has_unfinished:
                return
            self.step()
        raise AssertionError(f"not finished after {limit} steps")

    def abort(self, request_id: str) -> None:
        output = self.engine.abort_request(request_id)
        self.take([output] if output else [])

    def take(self, outputs: Sequence[Any]) -> None:
        for output in outputs:
            assert output.request_id not in self.reasons, "an output after the last one"
            self.text[output.request_id] = self.text.get(output.request_id, "") + output.text_delta
            ids = self.ids.setdefault(output.request_id, [])
            ids.extend(token.id for token in output.tokens)
            assert output.num_output_tokens == len(ids), "tokens lost or repeated"
            if output.finish_reason is not None:
                self.reasons[output.request_id] = str(output.finish_reason)

    @property
    def last(self) -> SchedulerOutput:
        """What the latest step ran."""
        return self.runner.outputs[-1]

    def check_blocks(self) -> None:
        """Used + free = total, every block's holders are known, and an idle engine holds none."""
        assert self.runner.violations == [], "a step that no model could run"
        scheduler = self.engine.scheduler
        blocks = scheduler.blocks
        held = {block for sequence in scheduler.running for block in sequence.block_table}
        assert 0 not in held
        assert len(held) == blocks.num_used
        assert blocks.num_free + len(held) == blocks.num_total == self.config.num_blocks - 1
        assert not any(sequence.block_table for sequence in scheduler.waiting)
        if not self.engine.has_unfinished:
            assert blocks.num_used == 0
