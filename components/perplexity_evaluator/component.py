"""PerplexityEvaluator as a TFX component."""

# No `from __future__ import annotations` here: TFX reads the annotations as objects.

import json
import logging
from pathlib import Path
from typing import Any

from tfx.dsl.component.experimental.annotations import InputArtifact, OutputArtifact, Parameter
from tfx.dsl.component.experimental.decorators import component
from tfx.types.standard_artifacts import Examples, Model, ModelBlessing, ModelEvaluation

from components.baseline.baseline import Baseline
from components.model_paths import serving_directory
from components.perplexity_evaluator.evaluation_config import EvaluationConfig
from components.perplexity_evaluator.gate_config import GateConfig
from components.perplexity_evaluator.result_files import RESULTS_FILE, TFMA_FOLDER

_log = logging.getLogger("tokenmill")


@component
def perplexity_evaluator_component(
    examples: InputArtifact[Examples],
    package: InputArtifact[Model],
    baseline: InputArtifact[Model],
    checkpoint: InputArtifact[Model],
    evaluation: OutputArtifact[ModelEvaluation],
    model_blessing: OutputArtifact[ModelBlessing],
    config: Parameter[str],
    gate: Parameter[str],
    score_cache: Parameter[str],
    split: Parameter[str],
) -> None:
    """Score candidate and baseline on the eval split and bless the candidate if the gate allows it.

    Args:
        examples: ExampleGen's output; `text` and `source` of the eval split are used.
        package: the candidate.
        baseline: the BaselineLookup's answer.
        checkpoint: the Trainer's model, the candidate's parent if its weights are quantised.
        evaluation: gets `results.json`, the same for TensorFlow Model Analysis in `tfma/`, and the main
            figures as custom properties.
        model_blessing: the verdict, in the form of TFX's own Evaluator.
        config: an EvaluationConfig as JSON.
        gate: a GateConfig as JSON.
        score_cache: folder of scores of earlier runs, "" for none.
        split: settings that decide what is held out, as JSON.
    """
    from components.perplexity_evaluator.evaluator import Evaluator
    from components.perplexity_evaluator.held_out_document import read_documents
    from components.perplexity_evaluator.score_store import ScoreStore
    from components.perplexity_evaluator.tfma_results import write_tfma

    settings = EvaluationConfig.model_validate_json(config)
    against = Baseline.read(Path(baseline.uri))
    store = ScoreStore(Path(score_cache) if score_cache else None)
    parent = serving_directory(checkpoint.uri)
    evaluator = Evaluator(serving_directory(package.uri), settings, store, json.loads(split), parent)
    outcome = evaluator.run(read_documents(Path(examples.uri)), against, GateConfig.model_validate_json(gate))
    _write(evaluation, outcome.results)
    write_tfma(Path(evaluation.uri) / TFMA_FOLDER, outcome.results, str(serving_directory(package.uri)))
    outcome.verdict.write(model_blessing)
    model_blessing.set_string_custom_property("current_model", package.uri)
    model_blessing.set_int_custom_property("current_model_id", package.id)
    model_blessing.set_string_custom_property("baseline_model", against.path)
    _log.info("evaluation: %s", " ".join(outcome.verdict.reasons))


def _write(evaluation: Any, results: dict[str, Any]) -> None:
    folder = Path(evaluation.uri)
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(results, indent=2, ensure_ascii=False, allow_nan=False)
    (folder / RESULTS_FILE).write_text(text + "\n", encoding="utf-8")
    for name in ("perplexity", "baseline_perplexity", "ratio", "bits_per_byte", "baseline_bits_per_byte"):
        if results[name] is not None:
            evaluation.set_float_custom_property(name, results[name])


def perplexity_evaluator(
    config: EvaluationConfig,
    gate: GateConfig,
    *,
    examples: Any,
    package: Any,
    baseline: Any,
    checkpoint: Any,
    score_cache: Path,
    split: dict[str, Any],
) -> Any:
    """The PerplexityEvaluator node; output channels `evaluation` and `model_blessing`."""
    return perplexity_evaluator_component(
        examples=examples,
        package=package,
        baseline=baseline,
        checkpoint=checkpoint,
        config=config.model_dump_json(),
        gate=gate.model_dump_json(),
        score_cache=str(score_cache),
        split=json.dumps(split, sort_keys=True),
    ).with_id("PerplexityEvaluator")
