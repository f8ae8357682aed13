"""The engine: requests in, scheduled steps on a runner, tokens and text out.

Pure: no TensorFlow, no I/O, no clock of its own, no threads. One caller at a time drives it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from collections.abc import Sequence as Ids
from itertools import count

from models.contract.errors import InvalidRequestError
from models.contract.metrics import MetricsObserver
from models.contract.sampling_params import SamplingParams
from serving.engine.admission import Admission
from serving.engine.engine_config import EngineConfig
from serving.engine.engine_reporter import EngineReporter
from serving.engine.finish_reason import FinishReason
from serving.engine.model_runner import ModelRunner
from serving.engine.output_processor import OutputProcessor
from serving.engine.recovery import Recovery
from serving.engine.request_output import RequestOutput
from serving.engine.request_table import RequestTable
from serving.engine.request_validator import RequestValidator
from serving.engine.scheduler import Scheduler
from serving.engine.scheduler_output import SchedulerOutput
from serving.engine.sequence import Sequence
from serving.engine.step_result import StepResult

_log = logging.getLogger(__name__)


class LLMEngine:
    """Continuous batching over one model replica.

    Args:
        runner: executes steps.
        config: sizes and limits, see `EngineConfig.from_manifest`.
        vocab: id → bytes.
        eos_ids: ids that end an answer.
        clock: monotonic seconds.
        observer: receives events and durations.

    Example:
        >>> engine.add_request("a", [1, 2, 3], SamplingParams(max_tokens=8))
        >>> while engine.has_unfinished:
        ...     for output in engine.step():
        ...         print(output.text_delta, end="")
    """

    def __init__(
        self,
        runner: ModelRunner,
        config: EngineConfig,
        vocab: list[bytes],
        eos_ids: Iterable[int],
        clock: Callable[[], float],
        observer: MetricsObserver,
    ) -> None:
        self.config = config
        self.clock = clock
        self.scheduler = Scheduler(config, eos_ids := tuple(eos_ids))
        self._runner = runner
        self._vocab = vocab
        self._eos_ids = eos_ids
        self._reporter = EngineReporter(observer, self.scheduler, clock)
        self._validator = RequestValidator(config)
        self._admission = Admission(config, self.scheduler)
        self._requests = RequestTable(self.scheduler, self._admission, self._reporter, clock)
        self._arrivals = count()
        self._recovery = Recovery(self._requests, self.scheduler)
        self._nonce = runner.nonce

    @property
    def has_unfinished(self) -> bool:
        """Whether a step has anything to do."""
        return len(self._requests) > 0

    @property
    def num_unfinished(self) -> int:
        """Requests waiting or running."""
        return len(self._requests)

    def add_request(
        self,
        request_id: str,
        prompt_ids: Ids[int],
        params: SamplingParams,
        *,
        tenant: str = "",
        cap_max_tokens: bool = False,
        stream: bool = True,
    ) -> None:
        """Queue a request.

        Args:
            request_id: unique among unfinished requests.
            prompt_ids: the prompt's ids.
            params: how to sample and when to end.
            tenant: requests of different tenants never share cached blocks.
            cap_max_tokens: the caller left `max_tokens` at its default; cut it to what fits.
            stream: whether someone reads the tokens as they come; bulk goes in longer steps.

        Raises:
            InvalidRequestError: id in use, prompt empty or outside the vocabulary, or the package cannot
                do what is asked.
            ContextLengthError: prompt and answer do not fit.
            OverloadedError: too much is waiting.
        """
        if request_id in self._requests:
            raise InvalidRequestError(
                f"request id {request_id!r} is in use.", field="request_id", remedy="Choose another one."
            )
        max_tokens = self._validator.max_tokens(prompt_ids, params, cap=cap_max_tokens)
        self._admission.check(len(prompt_ids))
        sequence = Sequence(
            request_id,
            prompt_ids,
            params,
            max_tokens=max_tokens,
            tenant=tenant,
            arrival=next(self._arrivals),
            arrival_time=self.clock(),
            stream=stream,
        )
        self._requests.add(OutputProcessor(sequence, self._vocab, self._eos_ids))
        self._reporter.state()

    def abort_request(self, request_id: str) -> RequestOutput | None:
        """End a request in whatever phase and free its blocks at once.

        Returns:
            Its last output, or None if there is no such request (any more).
        """
        if request_id not in self._requests:
            return None
        output = self._requests.end(request_id, FinishReason.ABORT)
        self._reporter.state()
        return output

    def step(self) -> list[RequestOutput]:
        """Run one step; gives an output per request that got tokens or ended.

        A step whose runner raises is repeated from the prompt on, each request alone; a request
        whose step fails twice in a row ends with an error. When the runner's KV memory was reset,
        all running requests are prefilled again; nothing is lost or repeated.
        """
        output = self.scheduler.schedule()
        if output.is_empty:
            return []
        for chunk in output.prefills:
            self._reporter.scheduled(self._requests.sequence(chunk.request_id), chunk.start)
        for full in output.fulls:
            self._reporter.scheduled(self._requests.sequence(full.row.request_id), full.row.length)
        try:
            result = self._runner.execute(output)
        except Exception as error:
            _log.warning("a step of %d requests failed", len(output.request_ids), exc_info=True)
            outputs = self._recovery.step_failed(output.request_ids, error)
        else:
            outputs = self._take(output, result)
        self._reporter.state()
        return outputs

    def generate(self, prompts: Ids[Ids[int]], params: SamplingParams) -> list[RequestOutput]:
        """Run prompts to their ends on an engine that nobody else drives.

        Returns:
            One merged output per prompt, in order.

        Raises:
            InvalidRequestError, ContextLengthError: a prompt cannot be served; none has run then.
        """
        for prompt in prompts:
            self._validator.max_tokens(prompt, params, cap=False)
        pending = [(f"generate-{next(self._arrivals)}", prompt) for prompt in prompts]
        merged: dict[str, RequestOutput] = {}
        names = [name for name, _ in pending]
        pending.reverse()
        while pending or self.has_unfinished:
            while pending and self._admission.has_room(len(pending[-1][1])):
                self.add_request(*pending.pop(), params, stream=False)
            for output in self.step():
                known = merged.get(output.request_id)
                merged[output.request_id] = known.merge(output) if known else output
        return [merged[name] for name in names]

    def _take(self, output: SchedulerOutput, result: StepResult) -> list[RequestOutput]:
        if result.nonce != self._nonce:
            self._nonce = result.nonce
            return self._recovery.memory_lost()
        self._recovery.step_succeeded()
        self._reporter.step(output, result)
        self.scheduler.speculation.stepped(output, result)
        outputs = []
        for chunk, token in zip(output.prefills, result.prefills, strict=True):
            sequence = self._requests.sequence(chunk.request_id)
            sequence.num_computed += len(chunk.token_ids)
            if chunk.is_last:
                outputs.append(self._requests.accept(chunk.request_id, (token,)))
            else:
                self.scheduler.blocks.hash_blocks(sequence)
        for row, tokens in zip(output.decodes, result.decodes, strict=True):
            outputs.append(self._requests.accept(row.request_id, tokens))
        for full, token in zip(output.fulls, result.fulls, strict=True):
            outputs.append(self._requests.accept(full.row.request_id, (token,)))
        for verify, tokens in zip(output.verifies, result.verifies, strict=True):
            request_id = verify.row.request_id
            self.scheduler.speculation.verified(
                self._requests.sequence(request_id), output, len(verify.draft_ids), len(tokens)
            )
            outputs.append(self._requests.accept(request_id, tokens))
        return outputs
