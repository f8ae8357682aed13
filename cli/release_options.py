"""What push, canary, promote, rollback and releases share: where the push directory is, and which model."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cli.console import print_json, say
from models.contract.errors import ConfigError

if TYPE_CHECKING:
    from models.contract.release_record import ReleaseRecord
    from pipeline.config import RunConfig
    from pipeline.release_manager import ReleaseManager

CONFIG_FILE = Path("tokenmill.yaml")
DEFAULT_DIRECTORY = Path(".tokenmill/models")

model_argument = click.argument("model", required=False)
version_option = click.option("--version", type=int, help="Version; see `tokenmill releases`.")
reason_option = click.option("--reason", default="", help="Why, kept in the release's record.")
unblessed_option = click.option(
    "--allow-unblessed", is_flag=True, help="Take a package that no evaluation blessed."
)


def place_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Adds `--directory` and `--config`, the two ways to say where the push directory is."""
    directory = click.option(
        "--directory",
        type=click.Path(file_okay=False, path_type=Path),
        help=f"Push directory; by default the configuration's, else {DEFAULT_DIRECTORY}.",
    )
    config = click.option(
        "--config",
        "config_path",
        type=click.Path(dir_okay=False, path_type=Path),
        help="Configuration that names push directory and model.  [default: tokenmill.yaml, if it is there]",
    )
    return directory(config(function))


def manager(model: str | None, directory: Path | None, config_path: Path | None) -> ReleaseManager:
    """The release manager of the model that a command means.

    Without MODEL it is the configuration's, or the only one in the push directory.

    Raises:
        ConfigError: the configuration does not fit, or it is open which model is meant.
    """
    from pipeline.release_manager import ReleaseManager

    config = read_config(directory, config_path)
    place = directory or push_directory(config)
    return ReleaseManager(place, _only_model(place, config) if model is None else model)


def read_config(directory: Path | None, path: Path | None) -> RunConfig | None:
    """The configuration named; else, where no directory is, tokenmill.yaml if it is there."""
    if path is None and (directory is not None or not CONFIG_FILE.is_file()):
        return None
    from pipeline.config import RunConfig

    return RunConfig.load(path or CONFIG_FILE)


def push_directory(config: RunConfig | None) -> Path:
    """Where versions are pushed to."""
    return DEFAULT_DIRECTORY if config is None else config.push.directory


def print_change(releases: ReleaseManager, record: ReleaseRecord, *, as_json: bool) -> None:
    """Say what changed and where the labels are now."""
    status = releases.status()
    if as_json:
        state = status.to_json()
        kept = ("model", "directory", "labels", "canary_weight", "rollback_targets")
        print_json({"release": record.to_dict(), **{key: state[key] for key in kept}})
        return
    from pipeline.release_report import describe

    say(f"{status.model}: {describe(record)}")
    if record.reason:
        say(f"reason: {record.reason}")
    labels = ", ".join(f"{label} = {version}" for label, version in status.labels.targets.items())
    say(f"now: {labels or 'no labels'}")


def _only_model(directory: Path, config: RunConfig | None) -> str:
    if config is not None:
        return config.model.name
    from pipeline.release_manager import models_in

    found = models_in(directory)
    if len(found) != 1:
        raise ConfigError(
            f"push directory {directory} holds {len(found)} models: {', '.join(found) or 'none'}.",
            field="model",
            remedy="Name the model, or its configuration with `--config`.",
        )
    return found[0]
