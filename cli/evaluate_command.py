"""`tokenmill evaluate`: perplexity of a package or checkpoint on a text."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from cli.console import json_option, print_json, progress_bars, quiet_tensorflow, say
from models.contract.errors import CheckpointError, ConfigError, DataError, NotBlessedError

if TYPE_CHECKING:
    from components.perplexity_evaluator.check import Check
    from components.perplexity_evaluator.eval_window import EvalWindow
    from components.perplexity_evaluator.parent_comparison import ParentComparison
    from components.perplexity_evaluator.window_scores import WindowScores
    from models.scoring import Scorer


_CONTEXT = 512
_MAX_PARENT_RATIO = 1.05


class _Model(NamedTuple):
    dtype: str
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
@click.option(
    "--parent",
    type=click.Path(path_type=Path),
    help="Checkpoint or package of the float32 weights that this one was made of.",
)
@click.option(
    "--max-parent-ratio",
    type=click.FloatRange(min=0, min_open=True),
    help=f"Most its perplexity may be, as a multiple of the parent's; by default {_MAX_PARENT_RATIO}.",
)
@json_option
def command(
    package: Path | None,
    checkpoint: Path | None,
    file: Path,
    context: int | None,
    stride: int | None,
    batch_size: int,
    parent: Path | None,
    max_parent_ratio: float | None,
    as_json: bool,
) -> None:
    """Measure how well a model predicts a text: perplexity and bits per byte.

    A token is scored once, in the first window that holds both it and a predecessor. Bits per byte
    are the scored tokens' over the bytes that these stand for, as in a run's report; special tokens'
    names in the text are taken as text.

    With --parent the float32 weights that it was made of are scored on the same windows: what quantised
    weights lose. The interval of the ratio is drawn from windows.

    Exit code 5: a loss is NaN or infinite, or the ratio to the parent is above its limit.

    \b
    Examples:
      tokenmill evaluate --checkpoint .tokenmill/smollm2 --text notes.txt
      tokenmill evaluate --package .tokenmill/packages/smollm2 --text notes.txt --stride 512 --json
      tokenmill evaluate --package ./int8 --parent .tokenmill/smollm2 --text notes.txt
    """
    if (package is None) == (checkpoint is None):
        raise ConfigError(
            "evaluate needs one of --package and --checkpoint.",
            field="package",
            remedy="Name a model package or a checkpoint directory.",
        )
    if parent is None and max_parent_ratio is not None:
        raise ConfigError(
            f"--max-parent-ratio {max_parent_ratio:g} holds a model against its parent, and none is named.",
            field="parent",
            remedy="Add --parent with the checkpoint or package it was made of.",
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
        scores = _measure(model.scorer, windows, batch_size, "Scoring")
    finite = math.isfinite(scores.nll_sum.sum())
    compared = _compare(parent, model, windows, scores, text, batch_size) if parent and finite else None
    check = _check(compared, max_parent_ratio or _MAX_PARENT_RATIO) if compared else None
    _report(scores, windows, file, compared, check, as_json)
    if not finite:
        raise NotBlessedError(
            f"{package or checkpoint} predicts NaN or infinite losses on {file}.",
            remedy="Check that its weights are finite; a training that diverged needs a lower learning rate.",
        )
    if check is not None and check.status == "failed":
        raise NotBlessedError(check.sentence, remedy="Use the parent, or weights that lose less: bfloat16.")


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
        yield _Model(
            runner.manifest.dtype, runner, ids, runner.manifest.max_length, read_vocab(package / VOCAB_PATH)
        )


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
    yield _Model("float32", CheckpointScorer(decoder), ids, decoder.config.max_length, tokenizer.token_bytes)


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


def _measure(scorer: Scorer, windows: list[EvalWindow], batch_size: int, task: str) -> WindowScores:
    from components.perplexity_evaluator.window_scores import WindowScores

    with progress_bars() as bars:
        shown = bars.add_task(task, total=len(windows))
        return WindowScores.measure(
            scorer,
            windows,
            batch_size=batch_size,
            progress=lambda done: bars.update(shown, completed=done),
        )


def _compare(
    parent: Path,
    model: _Model,
    windows: list[EvalWindow],
    scores: WindowScores,
    text: str,
    batch_size: int,
) -> ParentComparison:
    """The model beside its parent; only one of them is in memory."""
    from components.perplexity_evaluator.parent_comparison import ParentComparison
    from models.checkpoint_files import CONFIG
    from monitoring.paired_comparison import PairedComparison

    is_checkpoint = (parent / CONFIG).is_file()
    with _open_checkpoint(parent, text) if is_checkpoint else _open_package(parent, text) as opened:
        _check_parent(parent, opened, model, windows)
        theirs = _measure(opened.scorer, windows, batch_size, "Scoring the parent")
    figures = PairedComparison.measure(
        scores.nll_sum, theirs.nll_sum, scores.scored, [window.scored_bytes for window in windows]
    )
    return ParentComparison(model.dtype, str(parent), figures)


def _check_parent(path: Path, parent: _Model, model: _Model, windows: list[EvalWindow]) -> None:
    longest = max(len(window.ids) for window in windows)
    fault, remedy = None, ""
    if parent.dtype != "float32":
        fault = f"has {parent.dtype} weights itself"
        remedy = "Name the float32 package or checkpoint that both were made of."
    elif parent.ids != model.ids:
        fault = "makes other ids of the text"
        remedy = "Name the model it was made of: both must have the same tokenizer."
    elif parent.max_length < longest:
        fault = f"takes at most {parent.max_length} tokens, the windows have {longest}"
        remedy = f"Use --context {parent.max_length} or less."
    if fault:
        raise ConfigError(f"the parent {path} {fault}.", field="parent", remedy=remedy)


def _check(compared: ParentComparison, limit: float) -> Check:
    from components.perplexity_evaluator.gate_config import GateConfig
    from components.perplexity_evaluator.parent_gate import judge_parent

    return judge_parent(compared, GateConfig(max_parent_ratio=limit))


def _report(
    scores: WindowScores,
    windows: list[EvalWindow],
    file: Path,
    compared: ParentComparison | None,
    check: Check | None,
    as_json: bool,
) -> None:
    from monitoring.perplexity import Perplexity

    result = Perplexity.total(scores.nll_sum, scores.scored, [window.scored_bytes for window in windows])
    if as_json:
        figures = {
            "nll_sum": result.nll_sum,
            "scored": result.scored,
            "perplexity": result.perplexity,
            "bits_per_byte": result.bits_per_byte,
        }
        # JSON has no word for NaN and infinities.
        plain = {name: value if math.isfinite(value) else None for name, value in figures.items()}
        print_json({**plain, **(_parent_json(compared, check) if compared and check else {})})
        return
    say(
        f"{file}: perplexity {result.perplexity:.4f} over {result.scored} tokens, "
        f"{result.bits_per_byte:.4f} bits per byte"
    )
    if check is not None and check.status != "failed":
        say(check.sentence)


def _parent_json(compared: ParentComparison, check: Check) -> dict[str, Any]:
    from components.perplexity_evaluator.results import parent_json

    return {"parent": {**parent_json(compared), "check": check.to_json()}}
