"""PackageModel: a model package under evaluation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from components.perplexity_evaluator.completion import Completion
from components.serving_validator.cached_stream import stream
from serving.runners.local_runner import LocalRunner


class PackageModel:
    """Implements `EvaluatedModel` with a package's own signatures.

    Args:
        runner: the loaded package; its KV memory is overwritten.
    """

    def __init__(self, runner: LocalRunner) -> None:
        self._runner = runner

    def score(
        self, ids: np.ndarray, lengths: np.ndarray, score_from: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """See `Scorer.score`."""
        return self._runner.score(ids, lengths, score_from)

    def complete(self, prompts: Sequence[Sequence[int]], max_tokens: int) -> list[Completion]:
        """See `EvaluatedModel.complete`."""
        end_ids = self._runner.manifest.eos_ids
        streams = stream(self._runner, prompts, max_tokens)
        return [Completion.cut(list(one.ids), end_ids) for one in streams]
