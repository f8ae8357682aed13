"""`tokenmill tokenize`: text to ids, as a model sees it."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import click
from click.core import ParameterSource

from cli.console import json_option, print_json, quiet_tensorflow, read_utf8, say
from models.contract.errors import ConfigError, DataError

if TYPE_CHECKING:
    from preprocessing.tokenizers import GraphTokenizer

_READ_BYTES = 1 << 18
_SHOWN = 80
"""Characters of a wrong line."""

_ONE_STRING = "Write one JSON string a line."


@click.command(
    name="tokenize",
    epilog="Examples: tokenmill tokenize --tokenizer checkpoints/smollm2 'def f(x):' · "
    "tokenmill tokenize --tokenizer checkpoints/smollm2 --color always 'def f(x):' | less -R · "
    "tokenmill tokenize --tokenizer checkpoints/smollm2 --jsonl < texts.jsonl > ids.jsonl",
)
@click.option(
    "--tokenizer",
    "path",
    required=True,
    type=click.Path(path_type=Path),
    help="Checkpoint directory, tokenizer.json or .model.",
)
@click.option(
    "--jsonl",
    is_flag=True,
    help="Read JSON strings, one a line, from the file TEXT or stdin; print one JSON list of ids a line.",
)
@click.option(
    "--special",
    is_flag=True,
    help="Turn the names of special tokens into their ids; by default they are text like any other.",
)
@click.option(
    "--color",
    type=click.Choice(["auto", "always", "never"]),
    default="auto",
    show_default=True,
    help="Show the text with a background per token; auto: on a terminal, unless NO_COLOR is set.",
)
@json_option
@click.argument("text", required=False)
def command(path: Path, jsonl: bool, special: bool, color: str, as_json: bool, text: str | None) -> None:
    """Print the token ids of TEXT and the piece of text that each stands for.

    On a terminal the text itself comes first, each token on a background of its own: spaces as ·, tabs as →,
    line ends as ⏎, bytes of a character that is cut in hex, special tokens in violet.

    With --jsonl, TEXT is the name of a file of JSON strings; without it they come from stdin.
    """
    if jsonl:
        _refuse_beside_jsonl(as_json)
    elif text is None:
        raise ConfigError(
            "no TEXT to tokenize.",
            field="text",
            remedy="Give one, or --jsonl to read JSON strings from stdin.",
        )
    source = _opened(text) if jsonl else None
    text = text if text is None or jsonl else read_utf8(text, "the text")
    quiet_tensorflow()
    from preprocessing.tokenizers import load_tokenizer

    tokenizer = load_tokenizer(path)
    if source is None:
        _show(tokenizer, str(text), special, color, as_json)
    else:
        with source:
            _convert(tokenizer, source, text or "stdin", special)


def _refuse_beside_jsonl(as_json: bool) -> None:
    """Refuse options that would change nothing: the form of the lines is fixed."""
    source = click.get_current_context().get_parameter_source("color")
    for name, given in (("json", as_json), ("color", source is not ParameterSource.DEFAULT)):
        if given:
            raise ConfigError(
                f"--{name} says how one TEXT is shown, but --jsonl prints a JSON list of ids a line.",
                field=name,
                remedy=f"Remove --{name} or --jsonl.",
            )


def _show(tokenizer: GraphTokenizer, text: str, special: bool, color: str, as_json: bool) -> None:
    ids = tokenizer.encode_batch([text.encode()], with_special=special)[0]
    table = tokenizer.token_bytes
    pieces = [table[index] for index in ids]
    if as_json:
        print_json({"ids": ids, "pieces": [piece.decode("utf-8", "replace") for piece in pieces]})
        return
    specials = set(tokenizer.special_ids.values())
    _view(pieces, [index in specials for index in ids], color)
    for index, piece in zip(ids, pieces, strict=True):
        say(f"{index:>8}  {_readable(piece)}")
    say(_counts(len(ids), text), err=True)


def _view(pieces: list[bytes], special: list[bool], color: str) -> None:
    """The text on coloured backgrounds and a blank line, where there are colours."""
    from cli.token_view import token_view
    from pipeline.terminal import PlainConsole

    forced: dict[str, Any] = {"force_terminal": True, "color_system": "256", "no_color": False}
    console = PlainConsole(**(forced if color == "always" else {}))
    if color == "never" or not pieces or console.no_color or console.color_system is None:
        return
    for line in token_view(pieces, special, sixteen=console.color_system == "standard"):
        console.print(line, soft_wrap=True)
    console.print()


def _counts(tokens: int, text: str) -> str:
    size = len(text.encode())
    each = f", {size / tokens:.2f} bytes per token" if tokens else ""
    return f"{tokens} tokens, {size} bytes, {len(text)} characters{each}"


def _readable(piece: bytes) -> str:
    """A quoted string, or quoted bytes where a token ends within a character."""
    try:
        return repr(piece.decode("utf-8"))
    except UnicodeDecodeError:
        return repr(piece)


def _opened(name: str | None) -> BinaryIO:
    if name is None:
        return sys.stdin.buffer
    try:
        return Path(name).open("rb")
    except OSError as error:
        raise DataError(f"{name}: cannot be read: {error.strerror}.", field=name) from error


def _convert(tokenizer: GraphTokenizer, stream: BinaryIO, name: str, special: bool) -> None:
    """Write one list of ids for each line, as soon as the line is there.

    Lines before a bad one are written first, whatever was read together with it.
    """
    number = 0
    for lines in _lines(stream):
        texts: list[bytes] = []
        fault: DataError | None = None
        for line in lines:
            number += 1
            try:
                texts.append(_parse(line, f"{name}: line {number}"))
            except DataError as error:
                fault = error
                break
        for ids in tokenizer.encode_batch(texts, with_special=special) if texts else ():
            sys.stdout.write(json.dumps(ids) + "\n")
        sys.stdout.flush()
        if fault is not None:
            raise fault


def _lines(stream: BinaryIO) -> Iterator[list[bytes]]:
    """Complete lines, as many as have arrived; what follows the last line end is a line too."""
    parts: list[bytes] = []
    while chunk := stream.read1(_READ_BYTES):  # type: ignore[attr-defined]
        head, end, tail = chunk.rpartition(b"\n")
        if end:
            yield (b"".join(parts) + head).split(b"\n")
            parts = []
        parts.append(tail)
    rest = b"".join(parts)
    if rest:
        yield [rest]


def _parse(line: bytes, place: str) -> bytes:
    """The UTF-8 of a line's JSON string."""
    try:
        value = json.loads(line.decode("utf-8"))
    except RecursionError as error:
        raise DataError(f"{place} is JSON nested too deeply.", remedy=_ONE_STRING) from error
    except ValueError as error:
        raise DataError(f"{place} is not JSON: {error}.", remedy=_ONE_STRING) from error
    if not isinstance(value, str):
        raise DataError(f"{place} is {line.decode('utf-8').strip()[:_SHOWN]}.", remedy=_ONE_STRING)
    return _utf8(value, place)


def _utf8(text: str, place: str) -> bytes:
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise DataError(
            f"{place} holds half a surrogate pair (\\u{ord(text[error.start]):04x}), which no text can.",
            remedy="Write both halves or the character itself.",
        ) from error
