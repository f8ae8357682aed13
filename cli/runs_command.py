"""`tokenmill runs`: what has run and what came of it, from ML Metadata."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cli.console import json_option, print_json, say, stdout_console
from models.contract.errors import ConfigError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from pipeline.run_registry import RunRegistry

_WORKDIR = Path(".tokenmill")


def registry_options(function: Callable[..., None]) -> Callable[..., None]:
    """--workdir and --config, and in their place the registry as argument `registry`."""

    @click.option(
        "--workdir",
        type=click.Path(file_okay=False, path_type=Path),
        help=f"Working directory of the runs; by default {_WORKDIR}. It knows the store of its newest run.",
    )
    @click.option(
        "--config",
        "config_path",
        type=click.Path(dir_okay=False, path_type=Path),
        help="Configuration whose working directory and metadata store are meant, instead of --workdir.",
    )
    @functools.wraps(function)
    def command(workdir: Path | None, config_path: Path | None, **arguments: Any) -> None:
        function(registry=_registry(workdir, config_path), **arguments)

    return command


def _registry(workdir: Path | None, config_path: Path | None) -> RunRegistry:
    if workdir is not None and config_path is not None:
        raise ConfigError(
            "--workdir and --config were both given.", field="config", remedy="Give one of them."
        )
    from pipeline.run_registry import RunRegistry

    if config_path is None:
        return RunRegistry.of_workdir(workdir or _WORKDIR)
    from pipeline.config import RunConfig

    config = RunConfig.load(config_path)
    return RunRegistry(config.metadata_connection, config.runs_directory)


@click.group(name="runs")
def command() -> None:
    """Runs of pipelines: their states, perplexities, verdicts, versions and artifacts.

    Example: tokenmill runs show
    """


@command.command(name="list")
@registry_options
@json_option
def list_runs(registry: RunRegistry, as_json: bool) -> None:
    """All runs, newest first.

    \b
    Examples:
      tokenmill runs list
      tokenmill runs list --json
      tokenmill runs list --config tokenmill.yaml
    """
    records = registry.list()
    if as_json:
        print_json([record.to_json() for record in records])
    elif records:
        from pipeline.run_report import runs_table

        _print(runs_table(records))
    else:
        say(f"No runs in {registry.metadata} yet. Start one: tokenmill run")


@command.command()
@click.argument("run", required=False)
@registry_options
@json_option
def show(run: str | None, registry: RunRegistry, as_json: bool) -> None:
    """One run with its components and artifacts; RUN is an id or its beginning, by default the newest.

    \b
    Examples:
      tokenmill runs show
      tokenmill runs show 20260301-17 --json
    """
    record = registry.show(run)
    if as_json:
        print_json(record.to_json())
        return
    from pipeline.run_report import components_table, run_table

    _print(run_table(record), components_table(record))


@command.command()
@click.argument("runs", nargs=-1, required=True)
@registry_options
@json_option
def compare(runs: tuple[str, ...], registry: RunRegistry, as_json: bool) -> None:
    """Two or more runs side by side: settings, data, figures, time; RUNS are ids or their beginnings.

    Only what differs is shown of settings and data, everything of the figures.

    \b
    Examples:
      tokenmill runs compare 20260301-17 20260302-09
      tokenmill runs compare 20260301-17 20260302-09 20260303-11 --json
    """
    from pipeline.run_comparer import RunComparer

    comparison = RunComparer(registry).compare(runs)
    if as_json:
        print_json(comparison.to_json())
        return
    from pipeline.comparison_report import comparison_tables

    _print(*comparison_tables(comparison))


@command.command()
@click.argument("target", required=False)
@click.option("--dot", "form", flag_value="dot", help="Print the graph in Graphviz' language.")
@click.option("--mermaid", "form", flag_value="mermaid", help="Print the graph as a Mermaid flowchart.")
@registry_options
@json_option
def lineage(target: str | None, form: str | None, registry: RunRegistry, as_json: bool) -> None:
    """Where a version or a run came from, what it was measured against, and what came of it.

    TARGET is a version's number, MODEL:VERSION, a version's directory, or a run's id or the beginning of
    it; by default the version pushed last.

    \b
    Examples:
      tokenmill runs lineage
      tokenmill runs lineage 1795974558
      tokenmill runs lineage 20260301-17 --json
      tokenmill runs lineage --dot > lineage.dot
    """
    from pipeline.lineage_tracer import LineageTracer

    graph = registry.graph()
    found = LineageTracer(graph, registry.list(graph)).trace(target)
    if as_json:
        print_json(found.to_json())
        return
    from pipeline import lineage_graphs, lineage_report

    if form is None:
        _print(lineage_report.lineage_view(found))
    else:
        click.echo(lineage_graphs.WRITERS[form](found), nl=False)


def _print(*parts: RenderableType) -> None:
    console = stdout_console()
    for part in parts:
        console.print(part)
