"""create_pipeline: the mill as a TFX pipeline, the same for every runner."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tfx import v1 as tfx

from components.baseline.component import baseline_lookup
from components.corpus_example_gen.component import corpus_example_gen
from components.exporter.component import exporter
from components.initial_model.component import initial_model
from components.metadata.connection_proto import connection_proto
from components.perplexity_evaluator.component import perplexity_evaluator
from components.pusher.component import pusher
from components.reporter.component import reporter
from components.serving_validator.component import serving_validator
from components.trainer.component import trainer
from components.tuner.component import tuner
from components.vocabulary_trainer.component import vocabulary_trainer
from components.vocabulary_transform.component import vocabulary_transform
from components.warm_start.component import warm_start
from pipeline.config import RunConfig
from pipeline.run_id import new_run_id
from preprocessing.preprocessing_fn import PREPROCESSING_FN, transform_config

BEAM_ARGS = (
    "--direct_running_mode=in_memory",
    "--direct_num_workers=1",
    # Without it TFX packs itself into an archive for remote workers, anew in each component, and
    # leaves it in the temporary folder. Nothing here starts a container.
    "--sdk_container_image=unused",
)
"""Beam inside this process: starting workers takes longer than reading a corpus of some megabytes."""


def create_pipeline(config: RunConfig, run_id: str | None = None) -> tfx.dsl.Pipeline:
    """All components of a run, wired.

    The baseline lookup takes the run's id as a parameter, so it is never answered from cache;
    evaluator and pusher depend on its artifact and are therefore never reused when the baseline
    could have changed. All others are reused when nothing they depend on has changed.

    Args:
        config: the run.
        run_id: its id; a new one by default.

    Raises:
        DataError: the corpus is missing or has no matching file.
        CheckpointError: the pretrained checkpoint's tokenizer cannot be reproduced.
    """
    run_id = run_id or new_run_id()
    corpus = corpus_example_gen(config.corpus, checkpoint=config.model.tokenizer_directory)
    examples = corpus.outputs["examples"]
    start = _starting_components(config, examples)
    statistics, schema, validator = _checking_components(examples)
    transform = _transform(config, examples, schema.outputs["schema"], start)
    training = _training_components(
        config,
        start,
        examples=transform.outputs["transformed_examples"],
        transform_graph=transform.outputs["transform_graph"],
        schema=schema.outputs["schema"],
    )
    train = training[-1]
    export = exporter(config.export, checkpoint=train.outputs["model"], model_name=config.model.name)
    judges = _judging_components(
        config,
        run_id,
        start,
        examples=examples,
        checkpoint=train.outputs["model"],
        package=export.outputs["package"],
    )
    told = _reporter(config, run_id, examples=corpus, training=train, package=export, judges=judges)
    data = [corpus, *start.values(), statistics, schema, validator, transform]
    return tfx.dsl.Pipeline(
        pipeline_name=config.name,
        pipeline_root=str(config.run_root(run_id)),
        components=[*data, *training, export, *judges, told],
        enable_cache=True,
        # A compiled pipeline is written down and sent about; the runner adds the password.
        metadata_connection_config=connection_proto(config.metadata_connection, with_password=False),
        beam_pipeline_args=list(BEAM_ARGS),
    )


def _starting_components(config: RunConfig, examples: Any) -> dict[str, Any]:
    """Of a run from scratch the makers of `vocabulary` and initial `model`; else nothing."""
    scratch = config.model.from_scratch
    if scratch is None:
        return {}
    vocabulary = vocabulary_trainer(scratch.vocabulary, examples=examples)
    model = initial_model(scratch, vocabulary=vocabulary.outputs["vocabulary"])
    return {"vocabulary": vocabulary, "model": model}


def _checking_components(examples: Any) -> tuple[Any, Any, Any]:
    """What looks at the corpus: StatisticsGen, SchemaGen, ExampleValidator."""
    statistics = tfx.components.StatisticsGen(examples=examples)
    schema = tfx.components.SchemaGen(statistics=statistics.outputs["statistics"])
    validator = tfx.components.ExampleValidator(
        statistics=statistics.outputs["statistics"], schema=schema.outputs["schema"]
    )
    return statistics, schema, validator


def _transform(config: RunConfig, examples: Any, schema: Any, start: Mapping[str, Any]) -> Any:
    """From text to ids, by the checkpoint's tokenizer or the one that the run makes."""
    if start:
        vocabulary = start["vocabulary"].outputs["vocabulary"]
        return vocabulary_transform(examples=examples, schema=schema, vocabulary=vocabulary)
    return tfx.components.Transform(
        examples=examples,
        schema=schema,
        preprocessing_fn=PREPROCESSING_FN,
        custom_config=transform_config(config.model.checkpoint),
        disable_statistics=True,
    )


def _training_components(config: RunConfig, start: Mapping[str, Any], **data: Any) -> list[Any]:
    """From ids to a checkpoint: WarmStart and Tuner where the configuration asks for them, the Trainer.

    Args:
        config: the run.
        start: of a run from scratch.
        data: channels of Transform's outputs and the schema.
    """
    options: dict[str, Any] = {**data, "state_directory": (config.workdir / "training").resolve()}
    nodes: list[Any] = []
    if start:
        options["base_model"] = start["model"].outputs["model"]
    elif config.training.start_from == "latest_blessed":
        warm = warm_start(
            push_base=config.push_base,
            pretrained=config.model.checkpoint.resolve(),
            metadata=config.metadata_connection,
        )
        nodes.append(warm)
        options["base_model"] = warm.outputs["start"]
    if config.tuning is not None:
        search = tuner(config.tuning, config.training, config.model.checkpoint, **options)
        nodes.append(search)
        options["hyperparameters"] = search.outputs["best_hyperparameters"]
    return [*nodes, trainer(config.training, config.model.checkpoint, **options)]


def _judging_components(
    config: RunConfig,
    run_id: str,
    start: Mapping[str, Any],
    *,
    examples: Any,
    checkpoint: Any,
    package: Any,
) -> tuple[Any, Any, Any, Any]:
    """From the package to its version: baseline lookup, evaluator, serving validator, pusher."""
    baseline = baseline_lookup(
        package=package,
        push_base=config.push_base,
        pretrained=None if start else config.model.checkpoint.resolve(),
        metadata=config.metadata_connection,
        run_id=run_id,
        untrained=start["model"].outputs["model"] if start else None,
    )
    evaluate = perplexity_evaluator(
        config.evaluation,
        config.gate,
        examples=examples,
        package=package,
        baseline=baseline.outputs["baseline"],
        checkpoint=checkpoint,
        score_cache=(config.workdir / "scores").resolve(),
        split=config.corpus.split,
    )
    serve = serving_validator(config.validation, package=package, checkpoint=checkpoint)
    push = pusher(
        package=package,
        evaluation=evaluate.outputs["evaluation"],
        model_blessing=evaluate.outputs["model_blessing"],
        infra_blessing=serve.outputs["infra_blessing"],
        push_base=config.push_base,
        keep=config.push.keep,
        run_id=run_id,
    )
    return baseline, evaluate, serve, push


def _reporter(
    config: RunConfig, run_id: str, *, examples: Any, training: Any, package: Any, judges: tuple[Any, ...]
) -> Any:
    """The report on all of it; it waits for the pusher, the last to decide anything."""
    baseline, evaluate, serve, push = judges
    return reporter(
        examples=examples.outputs["examples"],
        model_run=training.outputs["model_run"],
        package=package.outputs["package"],
        baseline=baseline.outputs["baseline"],
        evaluation=evaluate.outputs["evaluation"],
        model_blessing=evaluate.outputs["model_blessing"],
        infra_blessing=serve.outputs["infra_blessing"],
        pushed_model=push.outputs["pushed_model"],
        config=config.to_yaml(),
        pipeline=config.name,
        model=config.model.name,
        run_id=run_id,
    )
