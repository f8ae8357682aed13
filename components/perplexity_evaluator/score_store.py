"""ScoreStore: scores kept on disk, so that an unchanged model is not scored again each run."""

from __future__ import annotations

import hashlib
import io
import logging
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from components.perplexity_evaluator.eval_window import EvalWindow, fingerprint
from components.perplexity_evaluator.whole_file import write_whole
from components.perplexity_evaluator.window_scores import WindowScores

_BROKEN = (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error)
"""What NumPy raises on a file that is torn or no archive of its kind."""

_log = logging.getLogger("tokenmill")


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
        """Scores of a model of content hash `model`, if they are stored and whole."""
        path = self._path(model, windows)
        if path is None or not path.is_file():
            return None
        try:
            with np.load(path, allow_pickle=False) as stored:
                found = WindowScores(stored["nll_sum"].astype(np.float64), stored["scored"].astype(np.int64))
        except _BROKEN as error:
            _log.warning("stored scores %s cannot be read (%s) and are measured again", path, error)
            return None
        wanted = [window.scored for window in windows]
        return found if found.scored.tolist() == wanted and found.nll_sum.shape == (len(wanted),) else None

    def put(self, model: str, windows: Sequence[EvalWindow], scores: WindowScores) -> None:
        """Store scores; readers see all of them or none."""
        path = self._path(model, windows)
        if path is None:
            return
        content = io.BytesIO()
        np.savez(content, nll_sum=scores.nll_sum, scored=scores.scored)
        write_whole(path, content.getvalue())

    def _path(self, model: str, windows: Sequence[EvalWindow]) -> Path | None:
        if self.folder is None:
            return None
        key = hashlib.sha256(f"{model}:{fingerprint(windows)}".encode()).hexdigest()
        return self.folder / f"{key}.npz"
