"""`tokenmill init`: a new project."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from cli.console import json_option, print_json, say


@click.command(name="init")
@click.argument("folder", metavar="[DIR]", default=Path("."), type=click.Path(path_type=Path))
@click.option("--name", help="Of pipeline and model; by default the folder's name.")
@click.option("--corpus", "path", help="Folder or file to train on; by default a small sample is laid down.")
@click.option(
    "--format", "form", help="The corpus' format: auto, text, jsonl, chat, csv, parquet or tfrecord."
)
@click.option(
    "--checkpoint", help="Checkpoint directory to start from; by default SmolLM2, which a run fetches."
)
@click.option("--source", help="Where a missing checkpoint comes from (`model.source`).")
@json_option
def command(
    folder: Path,
    name: str | None,
    path: str | None,
    form: str | None,
    checkpoint: str | None,
    source: str | None,
    as_json: bool,
) -> None:
    """Start a project: a commented configuration, its schema, a README and a corpus to try it with.

    Nothing is asked, and no file that says something else is overwritten.

    \b
    Examples:
      tokenmill init mymodel
      tokenmill init mymodel --corpus ~/texts --name my-model
      tokenmill init . --corpus "data/span-{SPAN}/*.jsonl" --format jsonl --checkpoint checkpoints/mine
    """
    from pipeline.project import CHECKPOINT, PRETRAINED, Project, project_name

    corpus = {"name": "corpus", "path": path or "corpus", **({"format": form} if form else {})}
    project = Project(
        name or project_name(folder),
        source=corpus if path or form else None,
        checkpoint=checkpoint or CHECKPOINT,
        pretrained=source or (None if checkpoint else PRETRAINED),
    )
    written = project.write(folder)
    if as_json:
        print_json({"folder": str(folder), "written": [str(file) for file in written]})
        return
    for file in written:
        say(f"wrote {file}")
    step = "" if folder == Path(".") else f"cd {shlex.quote(str(folder))} && "
    say(f"Next: {step}tokenmill run --dry-run")
