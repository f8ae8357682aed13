"""`tokenmill export-hf`: a model package or checkpoint becomes a checkpoint that transformers loads."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter

import click

from cli.console import json_option, print_json, quiet_tensorflow, say, working
from models.contract.errors import CheckpointError, ConfigError


@click.command(name="export-hf")
@click.option(
    "--package",
    type=click.Path(path_type=Path),
    help="Version directory of a model package, or its base: then the newest version.",
)
@click.option("--checkpoint", type=click.Path(path_type=Path), help="Checkpoint directory, e.g. of a run.")
@click.option("--out", required=True, type=click.Path(path_type=Path), help="Directory to write.")
@json_option
def command(package: Path | None, checkpoint: Path | None, out: Path, as_json: bool) -> None:
    """Write a Hugging Face checkpoint with the same logits: config, weights (float32) and tokenizer.

    Of a package with bfloat16 or int8 weights it gets the numbers that these stand for; what rounding took
    from the trained ones is lost. It loads with AutoModelForCausalLM.from_pretrained(OUT). A package's
    files are checked against its hash first; nothing is half-written.

    \b
    Examples:
      tokenmill export-hf --package .tokenmill/serving/smollm2 --out ./smollm2-tuned
      tokenmill export-hf --checkpoint .tokenmill/checkpoints/mine --out ./mine-hf --json
    """
    if (package is None) == (checkpoint is None):
        raise ConfigError(
            "export-hf needs one of `--package` and `--checkpoint`.",
            field="--package",
            remedy="Name what to export.",
        )
    quiet_tensorflow()
    start = perf_counter()
    with working(f"Writing {out}"):
        family, parameters, dtype = (
            _from_package(package, out) if package else _from_checkpoint(checkpoint, out)
        )
    if as_json:
        print_json({"path": str(out), "family": family, "parameters": parameters, "package_dtype": dtype})
        return
    size = f"{parameters / 1e6:.1f} M parameters, {4 * parameters / 1e6:.0f} MB"
    say(f"{out}: {family}, {size}, written in {perf_counter() - start:.0f} s", err=True)
    if dtype not in (None, "float32"):
        say(f"Its weights are dequantised from {dtype}: what rounding took is lost.", err=True)


def _from_package(package: Path, out: Path) -> tuple[str, int, str | None]:
    from models.contract.manifest import Manifest
    from models.contract.package import resolve_package
    from models.hf_export import export_hf

    version = resolve_package(package)
    config = export_hf(version, out)
    return config.family, config.num_parameters, Manifest.load(version).dtype


def _from_checkpoint(checkpoint: Path | None, out: Path) -> tuple[str, int, str | None]:
    from models.hf_import import import_hf

    if checkpoint is None or not checkpoint.is_dir():
        raise CheckpointError(
            f"checkpoint {checkpoint} is not a directory.",
            field=str(checkpoint),
            remedy="Name a directory written by `tokenmill import` or a run.",
        )
    config = import_hf(str(checkpoint), out)
    return config.family, config.num_parameters, None
