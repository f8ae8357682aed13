"""CTranslate2's Generator on a converted checkpoint."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import ctranslate2

from serving.benchmarks.engines.timed_answers import TimedAnswers


class Ctranslate2Engine:
    """Greedy generation, the first ids' time taken in its callback.

    Args:
        job: "checkpoint", "cache" (directory for the converted model), "threads" and "compute_type".
    """

    def __init__(self, job: dict[str, Any]) -> None:
        self._compute_type = job.get("compute_type", "float32")
        model = Path(job["cache"]) / "ctranslate2"
        if not (model / "model.bin").is_file():
            _convert(job["checkpoint"], model)
        self._generator = ctranslate2.Generator(
            str(model), device="cpu", compute_type=self._compute_type, intra_threads=job["threads"]
        )

    def describe(self) -> dict[str, Any]:
        """Version and what it computes with."""
        return {"version": f"CTranslate2 {ctranslate2.__version__}", "dtype": self._generator.compute_type}

    def run(self, prompts: list[list[int]], tokens: int) -> TimedAnswers:
        """See `TimedAnswers`."""
        first: list[float] = []

        def note(step: Any) -> bool:
            if step.step == 0:
                first.append(time.perf_counter())
            return False

        texts = [[_word(index) for index in prompt] for prompt in prompts]
        started = time.perf_counter()
        answers = self._generator.generate_batch(
            texts,
            max_length=tokens,
            min_length=tokens,
            sampling_topk=1,
            include_prompt_in_result=False,
            end_token=[],
            callback=note,
        )
        ended = time.perf_counter()
        return TimedAnswers(
            first[-1] - started, ended - first[-1], [answer.sequences_ids[0] for answer in answers]
        )


def _word(index: int) -> str:
    return f"<{index}>"


def _convert(checkpoint: str, target: Path) -> None:
    """Convert with the words <0>, <1>, … as vocabulary: the prompts are ids."""
    from ctranslate2.converters import TransformersConverter
    from ctranslate2.converters.transformers import ModelLoader

    # A benchmark's checkpoint may have more ids than its tokenizer has words.
    for loader in (ModelLoader, *ModelLoader.__subclasses__()):
        loader.get_vocabulary = lambda self, model, tokenizer: [
            _word(index) for index in range(model.config.vocab_size)
        ]
    TransformersConverter(checkpoint).convert(str(target), force=True)
    settings = json.loads((target / "config.json").read_text())
    # The loader refuses absent special tokens; none of them matters to prompts of ids.
    words = {name: _word(0) for name in settings if name.endswith("_token")}
    (target / "config.json").write_text(json.dumps({**settings, **words}))


def load(job: dict[str, Any]) -> Ctranslate2Engine:
    """The engine of a job."""
    return Ctranslate2Engine(job)
