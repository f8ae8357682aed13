"""Measurement: what one model scored and completed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from typing import Self

from components import progress
from components.perplexity_evaluator.completion import Completion
from components.perplexity_evaluator.eval_window import EvalWindow
from components.perplexity_evaluator.evaluated_model import EvaluatedModel
from components.perplexity_evaluator.evaluation_config import EvaluationConfig
from components.perplexity_evaluator.sample_prompt import SamplePrompt
from components.perplexity_evaluator.sample_store import SampleStore
from components.perplexity_evaluator.score_store import ScoreStore
from components.perplexity_evaluator.window_scores import WindowScores

_KNOWN = "known from an earlier run"


@dataclass(frozen=True, slots=True)
class Measurement:
    """One model's part of an evaluation.

    Args:
        scores: of all windows.
        completions: one per prompt.
    """

    scores: WindowScores
    completions: tuple[Completion, ...]

    @classmethod
    def take(
        cls,
        model: str,
        label: str,
        windows: Sequence[EvalWindow],
        prompts: Sequence[SamplePrompt],
        *,
        open_model: Callable[[], AbstractContextManager[EvaluatedModel]],
        config: EvaluationConfig,
        store: ScoreStore,
    ) -> Self:
        """Measure a model, or find what earlier runs measured; then it is not even loaded.

        Args:
            model: hash of its content.
            label: what to call it in progress.
            windows: to score.
            prompts: to complete.
            open_model: loads it, at most once.
            config: batch size and lengths.
            store: of earlier runs.
        """
        samples = SampleStore(store.folder)
        scores = store.get(model, windows)
        completions = samples.get(model, prompts, config.samples.max_tokens)
        with ExitStack() as opened:
            if scores is None or (completions is None and prompts):
                loaded = opened.enter_context(open_model())
            if scores is None:
                scores = _score(loaded, label, windows, config)
                store.put(model, windows, scores)
            else:
                progress.report(f"scoring the {label}", len(windows), len(windows), "windows", _KNOWN)
            if completions is None and prompts:
                completions = _complete(loaded, label, prompts, config)
                samples.put(model, prompts, config.samples.max_tokens, completions)
        return cls(scores, tuple(completions or ()))


def _score(
    loaded: EvaluatedModel, label: str, windows: Sequence[EvalWindow], config: EvaluationConfig
) -> WindowScores:
    return WindowScores.measure(
        loaded,
        windows,
        batch_size=config.batch_size,
        progress=lambda done: progress.report(f"scoring the {label}", done, len(windows), "windows"),
    )


def _complete(
    loaded: EvaluatedModel, label: str, prompts: Sequence[SamplePrompt], config: EvaluationConfig
) -> list[Completion]:
    task = f"completing prompts with the {label}"
    progress.report(task, 0, len(prompts), "prompts")
    found = loaded.complete([prompt.ids for prompt in prompts], config.samples.max_tokens)
    progress.report(task, len(prompts), len(prompts), "prompts")
    return found
