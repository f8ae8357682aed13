"""`tokenmill export`: a checkpoint becomes a model package."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

import click

from cli.console import json_option, print_json, quiet_tensorflow, say, working

if TYPE_CHECKING:
    from models.export_options import ExportOptions

_SHRINKS = {"float32": 1, "bfloat16": 2, "int8": 4}
"""By how much smaller than float32 a type's weights are."""


@click.command(name="export")
@click.option(
    "--checkpoint",
    required=True,
    type=click.Path(path_type=Path),
    help="Hugging Face checkpoint directory, tokenizer included.",
)
@click.option(
    "--out",
    "base",
    required=True,
    type=click.Path(path_type=Path),
    help="Folder of the model's versions; the package becomes BASE/<version>.",
)
@click.option("--model-name", help="Name to serve it under; by default the name of the folder.")
@click.option("--version", type=click.IntRange(min=1), help="Version number; by default the time in seconds.")
@click.option(
    "--dtype",
    type=click.Choice(list(_SHRINKS)),
    default="float32",
    show_default=True,
    help="Of the weights; what others than float32 lose, `tokenmill evaluate --parent` measures.",
)
@click.option(
    "--xla",
    type=click.Choice(["off", "latency", "throughput"]),
    default="off",
    show_default=True,
    help="What decoding is compiled for: nothing, one row at a time, or many.",
)
@click.option(
    "--cores",
    type=click.IntRange(min=1),
    help="Cores of the machine that will serve, by default this one's; a power of two, at most 64. Matters "
    "for compiled packages only: float32 with --xla latency or throughput.",
)
@click.option("--max-length", type=int, help="Most tokens of prompt and answer; by default at most 2048.")
@click.option("--blocks", type=int, help="KV blocks, the null block counted; by default 512 MiB of them.")
@click.option("--block-size", type=int, default=16, show_default=True, help="Tokens per KV block.")
@click.option("--stateless", is_flag=True, help="Only signatures without KV memory.")
@json_option
def command(
    checkpoint: Path,
    base: Path,
    model_name: str | None,
    version: int | None,
    dtype: str,
    xla: str,
    cores: int | None,
    max_length: int | None,
    blocks: int | None,
    block_size: int,
    stateless: bool,
    as_json: bool,
) -> None:
    """Turn a checkpoint into a model package: network, tokenizer and KV memory in one SavedModel.

    The version directory appears when it is complete; nothing is half-written. Every package serves without
    XLA; one with --xla latency or throughput also holds a decode that the server compiles in the background.
    bfloat16 weights take half the memory of float32, int8 a
    quarter.

    \b
    Examples:
      tokenmill export --checkpoint .tokenmill/smollm2 --out .tokenmill/packages/smollm2
      tokenmill export --checkpoint ./mine --out ./packages/mine --max-length 1024 --blocks 2049 --json
      tokenmill export --checkpoint ./mine --out ./packages/fast --dtype bfloat16 --xla latency
      tokenmill export --checkpoint ./mine --out ./packages/plain --stateless
    """
    quiet_tensorflow()
    from models.contract.manifest import Manifest
    from models.export import export_package
    from models.export_options import ExportOptions

    options = ExportOptions(
        model_name=model_name or base.resolve().name,
        max_length=max_length,
        block_size=block_size,
        num_blocks=blocks,
        dtype=dtype,
        profile=xla,
        cores=cores,
        stateless=stateless,
    )
    _tell_of_cores(options)
    start = perf_counter()
    with working(_estimate(checkpoint, dtype)):
        path = export_package(checkpoint, base, options, version=version)
    if as_json:
        print_json({"path": str(path), "version": int(path.name)})
        return
    manifest = Manifest.load(path)
    need = ", ".join(f"{part} {size / 1e6:.0f} MB" for part, size in manifest.memory_bytes.items())
    say(f"{path}: written in {perf_counter() - start:.0f} s. Memory when loaded: {need}.", err=True)


def _tell_of_cores(options: ExportOptions) -> None:
    """Say what became of the number of cores that was asked for, if it is another."""
    from models.export_options import MOST_CORES

    asked, made = options.cores, options.resolve_cores()
    if asked is None or asked == made:
        return
    if not options.cuts_products:
        say(f"--cores {asked} changes nothing: only a compiled float32 package is cut for cores.", err=True)
        return
    say(
        f"--cores {asked}: products are cut into {made} slices, a power of two and at most {MOST_CORES}.",
        err=True,
    )


def _estimate(checkpoint: Path, dtype: str) -> str:
    """What the export will take, from the size of the weights on disk."""
    size = sum(file.stat().st_size for file in checkpoint.glob("*.safetensors"))
    seconds = 30 + size / 50e6
    return (
        f"Exporting {checkpoint}: about {seconds:.0f} s, {size / _SHRINKS[dtype] / 1e6 + 20:.0f} MB on disk, "
        f"{(2 * size + 1e9) / 1e9:.1f} GB of memory"
    )
