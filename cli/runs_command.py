"""`tokenmill runs`: what has run, from ML Metadata."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from cli.console import json_option, print_json

if TYPE_CHECKING:
    from rich.table import Table

workdir_option = click.option(
    "--workdir",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path(".tokenmill"),
    show_default=True,
    help="Working directory of the runs.",
)


@click.group(name="runs")
def command() -> None:
    """Runs of pipelines: their states, perplexities, verdicts, versions and artifacts.

    Example: tokenmill runs show
    """


@command.command(name="list")
@workdir_option
@json_option
def list_runs(workdir: Path, as_json: bool) -> None:
    """All runs, newest first.

    \b
    Examples:
      tokenmill runs list
      tokenmill runs list --json
    """
    from pipeline.run_registry import RunRegistry

    records = RunRegistry.of_workdir(workdir).list()
    if as_json:
        print_json([record.to_json() for record in records])
    elif records:
        from pipeline.run_report import runs_table

        _print(runs_table(records))
    else:
        click.echo(f"No runs in {workdir} yet. Start one: tokenmill run --config configs/demo.yaml")


@command.command()
@click.argument("run", required=False)
@workdir_option
@json_option
def show(run: str | None, workdir: Path, as_json: bool) -> None:
    """One run with its components and artifacts; RUN is an id or its beginning, by default the newest.

    \b
    Examples:
      tokenmill runs show
      tokenmill runs show 20260301-17 --json
    """
    from pipeline.run_registry import RunRegistry

    record = RunRegistry.of_workdir(workdir).show(run)
    if as_json:
        print_json(record.to_json())
        return
    from pipeline.run_report import components_table, run_table

    _print(run_table(record), components_table(record))


def _print(*tables: Table) -> None:
    from rich.console import Console

    console = Console()
    if not console.is_terminal:
        console.width = 160
    for table in tables:
        console.print(table)
