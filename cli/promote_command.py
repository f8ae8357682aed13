"""`tokenmill promote`: make a pushed version the stable one."""

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


@click.command(name="promote")
@model_argument
@version_option
@reason_option
@unblessed_option
@place_options
@json_option
def command(
    model: str | None,
    version: int | None,
    reason: str,
    allow_unblessed: bool,
    directory: Path | None,
    config_path: Path | None,
    as_json: bool,
) -> None:
    """Put the label `stable` on a version of MODEL; a canary of it ends.

    By default it is the canary, without one the newest blessed version above the stable one that was not
    rolled back. The version must exist, be undamaged and be blessed.

    \b
    Examples:
      tokenmill promote stdlib-completion
      tokenmill promote stdlib-completion --version 1795974558 --reason "ticket 12"
      tokenmill promote --config configs/demo.yaml --json
    """
    releases = manager(model, directory, config_path)
    record = releases.promote(version, allow_unblessed=allow_unblessed, reason=reason)
    print_change(releases, record, as_json=as_json)
