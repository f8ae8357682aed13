"""Results of an evaluation for tests: made by the real functions from scores that are made up."""

from __future__ import annotations

from typing import Any

import numpy as np

from components.baseline.baseline import Baseline
from components.perplexity_evaluator.completion import Completion
from components.perplexity_evaluator.eval_window import EvalWindow
from components.perplexity_evaluator.evaluation_config import EvaluationConfig
from components.perplexity_evaluator.gate import judge, verdict
from components.perplexity_evaluator.gate_config import GateConfig
from components.perplexity_evaluator.results import results_json
from components.perplexity_evaluator.sample_prompt import SamplePrompt
from components.perplexity_evaluator.samples import Samples
from components.perplexity_evaluator.slice_comparison import compare, compare_slices
from components.perplexity_evaluator.window_scores import WindowScores

CONFIG = EvaluationConfig(context=64, bootstrap_samples=100)
TEXTS = [b"def ", b"add", b"(a, b)", b":\n", b"    return ", b"a + b", b"<script>alert(1)</script>", b"\xff"]
_DOCUMENTS = 12
_SCORED = 63


def example_results(
    gains: dict[str, float], *, samples: bool = True, small: bool = True, **gate: Any
) -> dict[str, Any]:
    """What `results.json` holds after an evaluation of some sources.

    Args:
        gains: source → nats per token by which the candidate is better than the baseline there.
        samples: whether there are completions.
        small: whether there is a slice of one document more, "tiny".
        gate: of GateConfig.
    """
    windows = [
        EvalWindow(tuple(range(64)), 1, 200, f"{source}{i}", source, "up to 512 tokens")
        for source in gains
        for i in range(_DOCUMENTS)
    ]
    if small:
        windows.append(EvalWindow(tuple(range(64)), 1, 200, "tiny0", "tiny", "up to 512 tokens"))
    scored = np.full(len(windows), _SCORED)
    spread = np.random.default_rng(0).normal(0, 0.02, len(windows))
    baseline = scored * (2.0 + spread * 10)
    candidate = baseline - scored * (np.array([gains.get(w.source, 0.1) for w in windows]) + spread)
    scores = WindowScores(candidate, scored), WindowScores(baseline, scored)
    overall, slices = compare(windows, *scores, CONFIG), compare_slices(windows, *scores, CONFIG)
    shown = _samples() if samples else None
    checks = judge(
        overall.perplexity.value,
        overall.baseline_perplexity.value,
        vocab_size=1000,
        gate=GateConfig(**gate),
        baseline_label="pretrained model",
        ratio=overall.ratio,
        slices=slices,
        texts=shown.figures if shown else None,
    )
    return results_json(
        windows,
        overall,
        slices,
        config=CONFIG,
        against=Baseline("checkpoint", "checkpoints/base", "f00d", "First run."),
        checks=checks,
        verdict=verdict(checks),
        samples=shown,
        add_bos=False,
    )


def _samples() -> Samples:
    prompts = [
        SamplePrompt((0, 1), (2, 3, 4, 5), "code", "code0"),
        SamplePrompt((6,), (7,), "notes", "notes0"),
    ]
    candidate = [Completion((2, 3, 4, 5), False), Completion((6, 7), True)]
    baseline = [Completion((2, 3, 0, 1), False), Completion((), True)]
    return Samples(prompts, candidate, baseline, TEXTS)
