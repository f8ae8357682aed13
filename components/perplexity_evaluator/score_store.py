"""ScoreStore: scores kept on disk, so that an unchanged model is not scored again each run."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from components.perplexity_evaluator.eval_window import EvalWindow, fingerprint
from components.perplexity_evaluator.window_scores import WindowScores


class ScoreStore:
    """Scores by content of model and windows: a changed model or text can never meet old scores.

    Args:
        folder: where they lie, or None to keep none.

    Attributes:
        folder: the same; other things known of models lie there too.
    """

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder

    def get(self, model: str, windows: Sequence[EvalWindow]) -> WindowScores | None:
        """Scores of a model of content hash `model`, if they are stored."""
        path = self._path(model, windows)
        if path is None or not path.is_file():
            return None
        with np.load(path) as stored:
            return WindowScores(stored["nll_sum"], stored["scored"])

    def put(self, model: str, windows: Sequence[EvalWindow], scores: WindowScores) -> None:
        """Store scores; readers see all of them or none."""
        path = self._path(model, windows)
        if path is None:
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_suffix(f".{os.getpid()}.npz")
        np.savez(temporary, nll_sum=scores.nll_sum, scored=scores.scored)
        temporary.replace(path)

    def _path(self, model: str, windows: Sequence[EvalWindow]) -> Path | None:
        if self.folder is None:
            return None
        key = hashlib.sha256(f"{model}:{fingerprint(windows)}".encode()).hexdigest()
        return self.folder / f"{key}.npz"
