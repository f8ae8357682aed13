"""SessionTokenizer: an in-graph tokenizer as a model server loads it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from serving.runners.session_model import SessionModel

SIGNATURE = "tokenize"


class SessionTokenizer:
    """A SavedModel's signature in a Session.

    Args:
        package: SavedModel with the signature `tokenize`: text [B] → ids [N], row_splits [B + 1].
        threads: of computation.
    """

    name = "tokenmill"

    def __init__(self, package: Path, threads: int) -> None:
        self._model = SessionModel(package, threads)

    def prepare(self, texts: Sequence[bytes]) -> np.ndarray:
        """An array [B] of bytes."""
        return np.array(texts, object)

    def encode(self, prepared: np.ndarray) -> dict[str, np.ndarray]:
        """Run the signature."""
        return self._model.call(SIGNATURE, text=prepared)

    def ids(self, encoded: dict[str, Any]) -> list[list[int]]:
        """Rows as lists."""
        splits = encoded["row_splits"]
        return [encoded["ids"][a:b].tolist() for a, b in pairwise(splits)]

    def close(self) -> None:
        """Free the session."""
        self._model.close()
