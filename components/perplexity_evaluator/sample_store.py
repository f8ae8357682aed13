"""SampleStore: completions kept on disk, so that an unchanged model is not asked again each run."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

from components.perplexity_evaluator.completion import Completion
from components.perplexity_evaluator.sample_prompt import SamplePrompt
from components.perplexity_evaluator.whole_file import write_whole


class SampleStore:
    """Completions by content of model and prompts.

    Args:
        folder: where they lie, or None to keep none.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder

    def get(self, model: str, prompts: Sequence[SamplePrompt], max_tokens: int) -> list[Completion] | None:
        """Completions of a model of content hash `model`, if they are stored and whole."""
        path = self._path(model, prompts, max_tokens)
        try:
            rows = json.loads(path.read_text(encoding="utf-8")) if path else None
            found = [Completion(tuple(map(int, row["ids"])), bool(row["ended"])) for row in rows or []]
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return found if len(found) == len(prompts) and found else None

    def put(
        self, model: str, prompts: Sequence[SamplePrompt], max_tokens: int, found: Sequence[Completion]
    ) -> None:
        """Store completions; readers see all of them or none."""
        path = self._path(model, prompts, max_tokens)
        if path is None:
            return
        rows = [{"ids": c.ids, "ended": c.ended} for c in found]
        write_whole(path, json.dumps(rows).encode())

    def _path(self, model: str, prompts: Sequence[SamplePrompt], max_tokens: int) -> Path | None:
        if self._folder is None:
            return None
        asked = json.dumps([model, max_tokens, [prompt.ids for prompt in prompts]])
        return self._folder / f"samples-{hashlib.sha256(asked.encode()).hexdigest()}.json"
