"""A completion streamed from a package by the engine, inside this process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from models.contract.sampling_params import SamplingParams
from serving.runners.local_runner import LocalRunner
from serving.runners.local_stream import stream_locally


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
    params = SamplingParams(max_tokens=max_tokens, temperature=0)
    with LocalRunner(package) as runner:
        for output in stream_locally(runner, prompt, params, cap_max_tokens=True):
            yield output.text_delta
