"""RunComparer: puts runs side by side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from components.corpus_example_gen.report_file import REPORT
from components.perplexity_evaluator.result_files import RESULTS_FILE
from components.trainer.training_history import SUMMARY
from models.contract.errors import ConfigError
from pipeline.run_comparison import RunComparison
from pipeline.run_findings import output_json
from pipeline.run_record import RunRecord
from pipeline.run_registry import RunRegistry

_FIGURES = (
    "state",
    "perplexity",
    "bits_per_byte",
    "baseline",
    "baseline_perplexity",
    "ratio",
    "scored",
    "blessed",
    "servable",
    "pushed_version",
    "seconds",
    "peak_memory_bytes",
)
_WITH_INTERVAL = ("perplexity", "bits_per_byte", "baseline_perplexity", "ratio")
_TRAINING = ("method", "final_loss", "trainable_share", "tokens_per_second", "stop_reason")
_CUT = ("context", "stride", "windows", "scored", "bytes", "add_bos")
"""What an evaluation says of its windows."""

_PLAIN = (str, int, float, bool, type(None))


class RunComparer:
    """Compares by what ML Metadata, the runs' journals and their artifacts say.

    Args:
        registry: of the runs.
    """

    def __init__(self, registry: RunRegistry) -> None:
        self._registry = registry

    def compare(self, run_ids: Sequence[str]) -> RunComparison:
        """Compare runs with the first of them.

        Args:
            run_ids: two or more ids or unambiguous beginnings.

        Raises:
            ConfigError: there are fewer than two different runs, or an id names none or several.
        """
        records = self._registry.list()
        runs = tuple(dict.fromkeys(self._registry.show(run_id, records).run_id for run_id in run_ids))
        if len(runs) < 2:
            raise ConfigError(
                f"compare was given {len(runs)} run, it needs two or more different ones.",
                field="runs",
                remedy="`tokenmill runs list` shows their ids.",
            )
        by_id = {record.run_id: record for record in records}
        return self._compare(tuple(by_id[run_id] for run_id in runs))

    def _compare(self, runs: tuple[RunRecord, ...]) -> RunComparison:
        configs = [dict(flatten(self._registry.config_of(run.run_id))) for run in runs]
        known = [config for config in configs if config]
        reports = [output_json(run.components, "CorpusExampleGen", "examples", REPORT) for run in runs]
        return RunComparison(
            runs=runs,
            settings=_differing(configs) if len(known) > 1 else {},
            unknown_settings=tuple(
                run.run_id for run, config in zip(runs, configs, strict=True) if not config
            ),
            data=_differing([dict(flatten(report)) for report in reports]),
            figures=_figures(runs),
            seconds=_seconds(runs),
            same_text=_same_text(runs, configs),
        )


def flatten(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Leaves of nested mappings by dotted names; a list of plain values is a leaf, others are numbered."""
    if isinstance(value, Mapping) and value:
        for key, part in value.items():
            yield from flatten(part, f"{name}.{key}" if name else str(key))
    elif isinstance(value, list) and not all(isinstance(part, _PLAIN) for part in value):
        for place, part in enumerate(value):
            yield from flatten(part, f"{name}[{place}]")
    elif name:
        yield name, value


def _differing(columns: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    names = dict.fromkeys(name for column in columns for name in column)
    rows = {name: [column.get(name) for column in columns] for name in names}
    return {name: row for name, row in rows.items() if any(value != row[0] for value in row)}


def _figures(runs: Sequence[RunRecord]) -> dict[str, list[Any]]:
    rows: dict[str, list[Any]] = {}
    for name in _FIGURES:
        rows[name] = [getattr(run, name) for run in runs]
        if name in _WITH_INTERVAL:
            rows[f"{name}_interval"] = [run.intervals.get(name) for run in runs]
    summaries = [output_json(run.components, "Trainer", "model_run", SUMMARY) for run in runs]
    for name in _TRAINING:
        if any(name in summary for summary in summaries):
            rows[f"training_{name}"] = [summary.get(name) for summary in summaries]
    return rows


def _seconds(runs: Sequence[RunRecord]) -> dict[str, list[float | None]]:
    names = dict.fromkeys(component.id for run in runs for component in run.components)
    times = [
        {component.id: component.seconds for component in run.components if component.state != "cached"}
        for run in runs
    ]
    return {name: [column.get(name) for column in times] for name in names}


def _same_text(runs: Sequence[RunRecord], configs: Sequence[Mapping[str, Any]]) -> bool:
    """Whether evaluations saw the same windows: the same Examples artifact, cut in the same way.

    Tokens of another vocabulary stand for other bytes.
    """
    keys = []
    for run, config in zip(runs, configs, strict=True):
        examples = next((one.outputs.get("examples") for one in run.components if one.outputs), None)
        results = output_json(run.components, "PerplexityEvaluator", "evaluation", RESULTS_FILE)
        cut = tuple(results.get(name) for name in _CUT)
        seed = config.get("evaluation.seed")
        if not results or examples is None:
            return False
        keys.append((examples, cut, seed))
    return len(set(keys)) == 1
