"""`tokenmill run`: corpus and checkpoint in, blessed and pushed model package out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

from cli.console import json_option, print_json, quiet_tensorflow, stderr_console, stream
from models.contract.errors import NotBlessedError

if TYPE_CHECKING:
    from models.decoder_config import DecoderConfig
    from pipeline.config import RunConfig
    from pipeline.run_record import RunRecord


@click.command(name="run")
@click.option(
    "--config",
    "config_path",
    type=click.Path(dir_okay=False, path_type=Path),
    default=Path("tokenmill.yaml"),
    show_default=True,
    help="The run's configuration.",
)
@click.option(
    "--dry-run", is_flag=True, help="Check what can be checked beforehand and print the estimate, no more."
)
@json_option
def command(config_path: Path, dry_run: bool, as_json: bool) -> None:
    """Run the pipeline: read, tokenize, train, export, evaluate, validate, push.

    A run can be stopped and started again: what is unchanged answers from cache, and training goes on
    from its last saved state. Each component's own output is in the run's log below `workdir`.

    Exit code 5: the model was not blessed, and nothing was pushed.

    \b
    Examples:
      tokenmill run --config configs/demo.yaml
      tokenmill run --config configs/demo.yaml --dry-run
      tokenmill run --json > result.json
    """
    from pipeline.config import RunConfig

    config = RunConfig.load(config_path)
    estimate = _announce(config, fetch=not dry_run)
    if dry_run:
        if as_json:
            print_json(estimate)
        return
    record = start(config)
    completion = _finish(config, record, as_json)
    if as_json:
        print_json({**record.to_json(), "completion": completion})
    if record.pushed_path is None:
        raise NotBlessedError(f"run {record.run_id} pushed nothing: {_why(record)}")


def _announce(config: RunConfig, *, fetch: bool) -> dict[str, Any]:
    """Refuse what cannot work, make the checkpoint if it is missing, print the estimate and return it."""
    quiet_tensorflow()
    from pipeline.checkpoint_source import ensure_checkpoint
    from pipeline.preflight import preflight

    def say(text: str) -> None:
        stderr_console().print(text, soft_wrap=True)

    decoder = preflight(config)
    if decoder is None and fetch:
        ensure_checkpoint(config.model, config.workdir, say)
        decoder = preflight(config)
    if decoder is None:
        say(f"{config.model.checkpoint} will be made from {config.model.source}.")
        return _unknown_estimate(config)
    return _estimate(config, decoder, say)


def _estimate(config: RunConfig, decoder: DecoderConfig, say: Callable[[str], None]) -> dict[str, Any]:
    from pipeline.end_mark import end_mark_warning
    from pipeline.run_estimate import RunEstimate, measure_gigaflops

    tokenizer = config.model.tokenizer_directory if config.corpus.has_chat else None
    warning = end_mark_warning(tokenizer, decoder) if tokenizer is not None else None
    estimate = RunEstimate.make(config, decoder, measure_gigaflops())
    for line in estimate.lines(config):
        say(line)
    if warning:
        say(f"! {warning[0].upper()}{warning[1:]}")
    return {
        "seconds": estimate.seconds,
        "memory_bytes": estimate.memory_bytes,
        "disk_bytes": estimate.disk_bytes,
        "parameters": estimate.parameters,
        "to_make": None,
        "warnings": [warning] if warning else [],
    }


def _unknown_estimate(config: RunConfig) -> dict[str, Any]:
    """In place of an estimate: the sizes are known only when the checkpoint has been made."""
    to_make = {"checkpoint": str(config.model.checkpoint), "source": config.model.source}
    unknown = dict.fromkeys(("seconds", "memory_bytes", "disk_bytes", "parameters"))
    return {**unknown, "to_make": to_make, "warnings": []}


def start(config: RunConfig) -> RunRecord:
    """Run the pipeline with its progress on stderr."""
    from pipeline.console_run_observer import ConsoleRunObserver
    from pipeline.local_runner import run
    from pipeline.run_id import new_run_id
    from pipeline.terminal import file_console

    run_id = new_run_id()

    def observer(terminal: TextIO) -> ConsoleRunObserver:
        # Only now is the working directory this run's, and the log there.
        file_console(terminal).print(f"run {run_id}, log {config.runs_directory / run_id / 'run.log'}")
        return ConsoleRunObserver(terminal)

    return run(config, run_id, observer)


def _finish(config: RunConfig, record: RunRecord, as_json: bool) -> str | None:
    """Print the table and stream the completion; returns its text."""
    from pipeline.run_report import run_table

    stderr_console().print(run_table(record))
    if record.pushed_path is None:
        return None
    from pipeline.completion import stream_completion

    prompt, pieces = config.completion.prompt, []
    if not as_json:
        stderr_console().print(f"A completion from version {record.pushed_version}:")
        click.secho(prompt, bold=True, nl=False)
    for piece in stream_completion(Path(record.pushed_path), prompt, config.completion.max_tokens):
        pieces.append(piece)
        if not as_json:
            stream(piece)
    if not as_json:
        click.echo()
    return "".join(pieces)


def _why(record: RunRecord) -> str:
    return " ".join(record.faults) or "no verdict was recorded."
