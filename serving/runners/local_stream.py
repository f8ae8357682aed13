"""One request on a package in this process: streamed by an engine of its own, or by the package itself."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from models.contract.errors import EngineError
from models.contract.metrics import MetricsObserver
from models.contract.sampling_params import SamplingParams
from serving.engine.engine_config import EngineConfig
from serving.engine.finish_reason import FinishReason
from serving.engine.llm_engine import LLMEngine
from serving.engine.request_output import RequestOutput
from serving.runners.local_runner import Generated, LocalRunner
from serving.runners.package_check import check_stateful


def stream_locally(
    runner: LocalRunner,
    prompt: str,
    params: SamplingParams,
    *,
    cap_max_tokens: bool = False,
    stream: bool = True,
    **limits: Any,
) -> Iterator[RequestOutput]:
    """Outputs of one request, as they come; the last one has a finish reason.

    Args:
        runner: a loaded package that nobody else drives.
        prompt: plain text.
        params: how to sample and when to end.
        cap_max_tokens: cut `max_tokens` to what fits into the context instead of refusing.
        stream: whether someone reads the tokens as they come.
        limits: of the engine, see `EngineConfig`.

    Raises:
        InvalidRequestError: the prompt is empty.
        ContextLengthError: prompt and answer do not fit.
        EngineError: a step failed.
        PackageError: the package is stateless.
    """
    manifest = runner.manifest
    check_stateful(runner.package, manifest)
    config = EngineConfig.from_manifest(manifest, **limits)
    engine = LLMEngine(runner, config, runner.vocab, manifest.eos_ids, time.monotonic, MetricsObserver())
    (ids,) = runner.tokenize([prompt])
    engine.add_request("local", ids, params, cap_max_tokens=cap_max_tokens, stream=stream)
    while engine.has_unfinished:
        for output in engine.step():
            if output.finish_reason is FinishReason.ERROR:
                raise EngineError(f"a step of the model failed: {output.error}.")
            yield output


def answer_locally(
    runner: LocalRunner, prompt: str, params: SamplingParams, *, cap_max_tokens: bool = False
) -> Generated:
    """The answer of the package's own `generate`, all at once; needs no KV memory.

    Args:
        runner: a loaded package.
        prompt: plain text.
        params: how to sample.
        cap_max_tokens: cut `max_tokens` to what fits into the context instead of refusing.

    Raises:
        InvalidRequestError: prompt and answer do not fit, or params ask for what only an engine does.
    """
    if cap_max_tokens:
        (ids,) = runner.tokenize([prompt])
        # An empty prompt starts from one id.
        room = runner.manifest.max_length - max(1, len(ids))
        params = replace(params, max_tokens=max(1, min(params.max_tokens, room)))
    (answer,) = runner.generate([prompt], params)
    return answer
