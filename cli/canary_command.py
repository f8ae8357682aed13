"""`tokenmill canary`: try a pushed version on a share of the traffic."""

from __future__ import annotations

from pathlib import Path

import click

from cli.console import json_option
from cli.release_options import (
    manager,
    model_argument,
    place_options,
    print_change,
    reason_option,
    unblessed_option,
    version_option,
)


@click.command(name="canary")
@model_argument
@version_option
@click.option(
    "--weight", type=float, default=0.1, show_default=True, help="Share of the traffic, between 0 and 1."
)
@reason_option
@unblessed_option
@place_options
@json_option
def command(
    model: str | None,
    version: int | None,
    weight: float,
    reason: str,
    allow_unblessed: bool,
    directory: Path | None,
    config_path: Path | None,
    as_json: bool,
) -> None:
    """Put the label `canary` on a version of MODEL, with a share of the traffic.

    By default it is the newest blessed version above the stable one that was not rolled back. Given again
    for the same version it changes the share. `tokenmill promote` makes it stable, `tokenmill rollback`
    ends it.

    \b
    Examples:
      tokenmill canary stdlib-completion
      tokenmill canary stdlib-completion --version 1795974558 --weight 0.25 --reason "evening test"
      tokenmill canary --config configs/demo.yaml --json
    """
    releases = manager(model, directory, config_path)
    record = releases.canary(version, weight, allow_unblessed=allow_unblessed, reason=reason)
    print_change(releases, record, as_json=as_json)
