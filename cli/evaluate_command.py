"""`tokenmill evaluate`: perplexity of a package or checkpoint on a text."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from cli.console import json_option, print_json, progress_bars, quiet_tensorflow, say
from models.contract.errors import CheckpointError, ConfigError, DataError, NotBlessedError

if TYPE_CHECKING:
    from components.perplexity_evaluator.eval_window import EvalWindow
    from models.scoring import Scorer
    from monitoring.perplexity import Perplexity


_CONTEXT = 512


class _Model(NamedTuple):
    scorer: Scorer
    ids: list[int]
    max_length: int
    token_bytes: Sequence[bytes]

    def num_bytes(self, start: int, end: int) -> int:
        """Bytes of text that a stretch of the ids stands for."""
        return sum(len(self.token_bytes[index]) for index in self.ids[start:end])


@click.command(name="evaluate")
@click.option("--package", type=click.Path(path_type=Path), help="Package's version directory or its base.")
@click.option("--checkpoint", type=click.Path(path_type=Path), help="Hugging Face checkpoint directory.")
@click.option(
    "--text", "file", required=True, type=click.Path(path_type=Path), help="UTF-8 file, read as one document."
)
@click.option("--context", type=int, help="Tokens per window; by default 512, if the model takes as many.")
@click.option("--stride", type=int, help="Tokens from window to window; by default half the context.")
@click.option(
    "--batch-size", default=4, show_default=True, type=click.IntRange(min=1), help="Windows at a time."
)
@json_option
def command(
    package: Path | None,
    checkpoint: Path | None,
    file: Path,
    context: int | None,
    stride: int | None,
    batch_size: int,
    as_json: bool,
) -> None:
    """Measure how well a model predicts a text: perplexity and bits per byte.

    A token is scored once, in the first window that holds both it and a predecessor. Bits per byte
    are the scored tokens' over the bytes that these stand for, as in a run's report; special tokens'
    names in the text are taken as text.

    Exit code 5: a loss is NaN or infinite.

    \b
    Examples:
      tokenmill evaluate --checkpoint .tokenmill/smollm2 --text notes.txt
      tokenmill evaluate --package .tokenmill/packages/smollm2 --text notes.txt --stride 512 --json
    """
    if (package is None) == (checkpoint is None):
        raise ConfigError(
            "evaluate needs one of --package and --checkpoint.",
            field="package",
            remedy="Name a model package or a checkpoint directory.",
        )
    text = _read(file)
    quiet_tensorflow()
    with _open_package(package, text) if package else _open_checkpoint(checkpoint, text) as model:
        windows = _windows(model, context, stride)
        if not windows:
            raise DataError(
                f"text {file} has {len(model.ids)} token, and the first cannot be scored.",
                field=str(file),
                remedy="Use a longer text.",
            )
        result = _measure(model.scorer, windows, batch_size)
    _report(result, file, as_json)
    if not math.isfinite(result.nll_sum):
        raise NotBlessedError(
            f"{package or checkpoint} predicts NaN or infinite losses on {file}.",
            remedy="Check that its weights are finite; a training that diverged needs a lower learning rate.",
        )


def _read(file: Path) -> str:
    try:
        text = file.read_bytes().decode("utf-8")
    except OSError as error:
        raise DataError(
            f"text {file}: cannot be read: {error.strerror}.",
            field=str(file),
            remedy="Name an existing file.",
        ) from error
    except UnicodeDecodeError as error:
        raise DataError(
            f"text {file}: not UTF-8: byte {error.object[error.start]:#04x} at offset {error.start}.",
            field=str(file),
            remedy="Convert it, e.g. with iconv -t UTF-8, or remove the byte.",
        ) from error
    if not text:
        raise DataError(f"text {file} is empty.", field=str(file), remedy="Use a file with text.")
    return text


@contextmanager
def _open_package(path: Path, text: str) -> Iterator[_Model]:
    from models.contract.manifest import VOCAB_PATH
    from models.contract.package import resolve_package
    from models.contract.vocab import read_vocab
    from serving.runners.local_runner import LocalRunner

    package = resolve_package(path)
    with LocalRunner(package) as runner:
        ids = runner.tokenize([text])[0]
        yield _Model(runner, ids, runner.manifest.max_length, read_vocab(package / VOCAB_PATH))


@contextmanager
def _open_checkpoint(path: Path, text: str) -> Iterator[_Model]:
    from models.checkpoint import load_checkpoint
    from models.scoring import CheckpointScorer
    from preprocessing.tokenizers import load_tokenizer

    decoder = load_checkpoint(path)
    tokenizer = load_tokenizer(path)
    if tokenizer.vocab_size > decoder.config.vocab_size:
        raise CheckpointError(
            f"{path}: the tokenizer has {tokenizer.vocab_size} ids, the network {decoder.config.vocab_size}.",
            field="vocab_size",
            remedy="Use the tokenizer that belongs to the weights.",
        )
    begin = [tokenizer.bos_id] if tokenizer.add_bos and tokenizer.bos_id is not None else []
    ids = begin + tokenizer.encode_batch([text])[0]
    yield _Model(CheckpointScorer(decoder), ids, decoder.config.max_length, tokenizer.token_bytes)


def _windows(model: _Model, context: int | None, stride: int | None) -> list[EvalWindow]:
    from components.perplexity_evaluator.eval_window import EvalWindow, length_class
    from preprocessing.windows import windows

    if context is None:
        context = min(_CONTEXT, model.max_length)
    if stride is None:
        stride = max(1, context // 2)
    if context > model.max_length:
        raise ConfigError(
            f"`context` is {context}, the model takes at most {model.max_length} tokens.",
            field="context",
            remedy=f"Use --context {model.max_length} or less.",
        )
    kind = length_class(len(model.ids))
    return [
        EvalWindow(
            ids=tuple(model.ids[window.start : window.end]),
            score_from=window.score_from,
            scored_bytes=model.num_bytes(window.start + window.score_from, window.end),
            document="text",
            source="text",
            length_class=kind,
        )
        for window in windows(len(model.ids), context, stride)
    ]


def _measure(scorer: Scorer, windows: list[EvalWindow], batch_size: int) -> Perplexity:
    from components.perplexity_evaluator.window_scores import WindowScores
    from monitoring.perplexity import Perplexity

    with progress_bars() as bars:
        task = bars.add_task("Scoring", total=len(windows))
        scores = WindowScores.measure(
            scorer,
            windows,
            batch_size=batch_size,
            progress=lambda done: bars.update(task, completed=done),
        )
    return Perplexity.total(scores.nll_sum, scores.scored, [window.scored_bytes for window in windows])


def _report(result: Perplexity, file: Path, as_json: bool) -> None:
    figures = {
        "nll_sum": result.nll_sum,
        "scored": result.scored,
        "perplexity": result.perplexity,
        "bits_per_byte": result.bits_per_byte,
    }
    if as_json:
        # JSON has no word for NaN and infinities.
        print_json({name: value if math.isfinite(value) else None for name, value in figures.items()})
        return
    say(
        f"{file}: perplexity {result.perplexity:.4f} over {result.scored} tokens, "
        f"{result.bits_per_byte:.4f} bits per byte"
    )
