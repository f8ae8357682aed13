"""A completion streamed from a package by the engine, inside this process."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

from models.contract.errors import EngineError
from models.contract.metrics import MetricsObserver
from models.contract.sampling_params import SamplingParams
from serving.engine.engine_config import EngineConfig
from serving.engine.finish_reason import FinishReason
from serving.engine.llm_engine import LLMEngine
from serving.runners.local_runner import LocalRunner


def stream_completion(package: Path, prompt: str, max_tokens: int) -> Iterator[str]:
    """Pieces of a greedy answer's text, as they come.

    Args:
        package: version directory.
        prompt: plain text.
        max_tokens: most tokens; cut to what fits into the package's context.

    Raises:
        PackageError: the package cannot be loaded.
        InvalidRequestError: the prompt is longer than the context.
        EngineError: a step failed.
    """
    with LocalRunner(package) as runner:
        manifest = runner.manifest
        engine = LLMEngine(
            runner,
            EngineConfig.from_manifest(manifest),
            runner.vocab,
            manifest.eos_ids,
            time.monotonic,
            MetricsObserver(),
        )
        params = SamplingParams(max_tokens=max_tokens, temperature=0)
        (ids,) = runner.tokenize([prompt])
        engine.add_request("completion", ids, params, cap_max_tokens=True)
        while engine.has_unfinished:
            for output in engine.step():
                if output.finish_reason is FinishReason.ERROR:
                    raise EngineError(f"a step of the model failed: {output.error}.")
                yield output.text_delta
