"""`tokenmill releases`: the versions of a model, its labels and their history."""

from __future__ import annotations

from pathlib import Path

import click

from cli.console import json_option, print_json, say, stdout_console
from cli.release_options import manager, model_argument, place_options


@click.command(name="releases")
@model_argument
@click.option(
    "--last", type=click.IntRange(min=1), default=20, show_default=True, help="Latest changes shown."
)
@place_options
@json_option
def command(
    model: str | None, last: int, directory: Path | None, config_path: Path | None, as_json: bool
) -> None:
    """Pushed versions of MODEL, the labels on them, and who changed what when.

    With --json the whole history is printed.

    \b
    Examples:
      tokenmill releases stdlib-completion
      tokenmill releases --config configs/demo.yaml --json
    """
    status = manager(model, directory, config_path).status()
    if as_json:
        print_json(status.to_json())
        return
    from pipeline.release_report import releases_table, versions_table

    stdout_console().print(versions_table(status), releases_table(status, last))
    if status.labels.stable is None:
        say("No version is stable yet: `tokenmill promote` makes one.")
