"""`tokenmill push`: put a package into the push directory by hand."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from cli.console import json_option, print_json, say
from cli.release_options import place_options, push_directory, read_config, reason_option, unblessed_option

if TYPE_CHECKING:
    from components.pusher.push_result import PushResult
    from models.contract.manifest import Manifest


@click.command(name="push")
@click.argument("package", type=click.Path(path_type=Path))
@click.option("--model", help="Name to push under; by default the package's own.")
@click.option(
    "--keep",
    type=click.IntRange(min=1),
    help="Newest blessed versions that stay.  [default: push.keep of the configuration, else all]",
)
@reason_option
@unblessed_option
@place_options
@json_option
def command(
    package: Path,
    model: str | None,
    keep: int | None,
    reason: str,
    allow_unblessed: bool,
    directory: Path | None,
    config_path: Path | None,
    as_json: bool,
) -> None:
    """Push PACKAGE, a version directory or the folder above its versions (then the newest).

    A run pushes by itself what it blessed; this is for packages from elsewhere. One that no evaluation
    blessed needs --allow-unblessed and gets no label by itself. The first blessed version becomes stable.
    A blessing that nothing but the package itself tells of is taken, said and recorded as such.

    \b
    Examples:
      tokenmill push ./from-the-other-cluster/1795974558
      tokenmill push .tokenmill/exported/mine --model mine --allow-unblessed --reason "to try int8"
    """
    from models.contract.manifest import Manifest
    from models.contract.package import resolve_package
    from pipeline.blessing_origin import blessing_origin
    from pipeline.release_manager import ReleaseManager

    version = resolve_package(package)
    manifest = Manifest.load(version)
    config = read_config(directory, config_path)
    releases = ReleaseManager(directory or push_directory(config), manifest.model if model is None else model)
    if keep is None and config is not None:
        keep = config.push.keep
    result = releases.push(package, allow_unblessed=allow_unblessed, keep=keep, reason=reason)
    origin = blessing_origin(version, manifest)
    _print(result, Manifest.load(result.path), origin, as_json=as_json)


def _print(result: PushResult, manifest: Manifest, origin: str | None, *, as_json: bool) -> None:
    from components.blessing import is_blessed

    blessed = is_blessed(manifest.evaluation)
    if as_json:
        print_json(
            {
                "path": str(result.path),
                "version": int(result.path.name),
                "new": result.new,
                "blessed": blessed,
                "blessing": (origin or "the package's own manifest") if blessed else None,
                "label": result.label or None,
                "removed": list(result.removed),
                "content_hash": manifest.content_hash,
            }
        )
        return
    say(f"{'pushed' if result.new else 'already the newest version:'} {result.path}")
    if not blessed:
        say("It was blessed by no evaluation.", err=True)
    elif origin is None:
        say("Blessed by its own manifest's word only: no release log beside it records that.", err=True)
    else:
        say(f"blessing: {origin}")
    label = (
        f"label: {result.label}" if result.label else "no label: `tokenmill canary` or `tokenmill promote`"
    )
    say(label)
    for version in result.removed:
        say(f"removed version {version} (push.keep)")
