"""`tokenmill rollback`: end the canary, or go back to the previous stable version."""

from __future__ import annotations

from pathlib import Path

import click

from cli.console import json_option
from cli.release_options import manager, model_argument, place_options, print_change, reason_option


@click.command(name="rollback")
@model_argument
@reason_option
@place_options
@json_option
def command(
    model: str | None, reason: str, directory: Path | None, config_path: Path | None, as_json: bool
) -> None:
    """End the canary of MODEL; without one, make the previous stable version stable again.

    Given again it goes one version further back. Versions that are gone or damaged are passed over.

    \b
    Examples:
      tokenmill rollback stdlib-completion
      tokenmill rollback stdlib-completion --reason "answers repeat themselves" --json
    """
    releases = manager(model, directory, config_path)
    print_change(releases, releases.rollback(reason=reason), as_json=as_json)
