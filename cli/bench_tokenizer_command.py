"""`tokenmill bench tokenizer`: our tokenizer beside others with the same vocabulary."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from cli.console import json_option, print_json, say, stdout_console

_PARTS = ("speed", "latency", "growth", "stages")


@click.command(name="tokenizer")
@click.option(
    "--tokenizer",
    required=True,
    type=click.Path(path_type=Path),
    help="Checkpoint directory, tokenizer.json or .model.",
)
@click.option(
    "--text",
    "texts",
    multiple=True,
    type=click.Path(path_type=Path),
    help="File to take texts from; may be given again. By default a mixture of what this machine has.",
)
@click.option(
    "--part",
    "parts",
    multiple=True,
    type=click.Choice(_PARTS),
    help="What to measure; may be given again. By default everything.",
)
@click.option("--batches", type=click.IntRange(min=1), default=8, show_default=True, help="Per round.")
@click.option("--batch-kb", type=click.IntRange(min=1), default=250, show_default=True, help="Of a batch.")
@click.option("--rounds", type=click.IntRange(min=1), default=5, show_default=True, help="Turns of each.")
@click.option("--threads", type=click.IntRange(min=1), default=2, show_default=True, help="Per tokenizer.")
@click.option("--beam", is_flag=True, help="Also measure tf.Transform on Beam's DirectRunner (a minute).")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path(".tokenmill/bench"),
    show_default=True,
    help="For tokenizer.json, the figures.",
)
@json_option
def command(as_json: bool, parts: tuple[str, ...], batch_kb: int, **options: Any) -> None:
    """Speed of a tokenizer, side by side with others that have its vocabulary.

    Ours is measured as a server runs it: a SavedModel in a Session. The others, if they are installed, are
    Hugging Face tokenizers and tiktoken, or sentencepiece for a .model. All take turns on the same texts in
    this process, what counts is the ratio within a round, and their ids are compared.

    latency is the median call for one text; growth what twice the text costs, for texts made to hurt;
    stages where the time of ours goes.

    \b
    Examples:
      tokenmill bench tokenizer --tokenizer .tokenmill/checkpoints/smollm2-135m-instruct
      tokenmill bench tokenizer --tokenizer tokenizer.model --part speed --text corpus.txt --json
    """
    from cli.bench_tokenizer_plan import TokenizerBenchPlan

    plan = TokenizerBenchPlan(parts=parts or _PARTS, batch_bytes=1000 * batch_kb, **options)
    result = plan.run(lambda line: say(line, err=True))
    if as_json:
        print_json(result)
        return
    from cli.bench_tokenizer_table import tokenizer_tables

    console = stdout_console()
    for table in tokenizer_tables(result):
        console.print(table)
    say(f"Written: {plan.out / 'tokenizer.json'}", err=True)
    sys.stdout.flush()
