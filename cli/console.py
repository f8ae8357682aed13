"""What all commands share: JSON on stdout, people's text on stderr, errors and exit codes."""

from __future__ import annotations

import importlib
import json
import os
import sys
import tempfile
from typing import TYPE_CHECKING, Any

import click

from models.contract.errors import InvalidRequestError, TokenmillError

if TYPE_CHECKING:
    from rich.progress import Progress
    from rich.status import Status

    from pipeline.terminal import PlainConsole

EXIT_CODES_HELP = (
    "Exit codes: 0 done · 1 unexpected error · 2 wrong argument, configuration or request · 3 corpus or "
    "text file · 4 checkpoint or package · 5 not blessed · 6 server · 130 interrupted."
)

json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON value on stdout, nothing else."
)


def stderr_console() -> PlainConsole:
    """A console on stderr: progress and tables never mix with stdout's data."""
    from pipeline.terminal import PlainConsole

    return PlainConsole(stderr=True)


def stdout_console() -> PlainConsole:
    """A console on stdout, for the tables that a command was asked for."""
    from pipeline.terminal import PlainConsole

    return PlainConsole()


def progress_bars() -> Progress:
    """Rich's bars on stderr, gone when they are done."""
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(),
    )
    return Progress(*columns, console=stderr_console(), transient=True)


def working(text: str) -> Status:
    """A moving sign with a text on stderr, gone when it is done."""
    from pipeline.terminal import styled

    return stderr_console().status(styled(text))


def say(text: str, *, err: bool = False) -> None:
    """Print a line for people; control characters of texts from outside are shown, not sent."""
    from pipeline.terminal import visible

    click.echo(visible(text, keep="\n\t"), err=err)


def quiet_tensorflow() -> None:
    """Import TensorFlow without its start-up chatter on the terminal.

    Some of it is written by native code before any log level is read, straight to file descriptor 2;
    so that one is pointed elsewhere during the import, and what was written is shown only if it fails.
    """
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("GRPC_VERBOSITY", "ERROR")
    os.environ.setdefault("KERAS_BACKEND", "tensorflow")
    if "tensorflow" in sys.modules:
        return
    sys.stderr.flush()
    kept = os.dup(2)
    with tempfile.TemporaryFile() as chatter:
        os.dup2(chatter.fileno(), 2)
        try:
            importlib.import_module("tensorflow_text")
        except BaseException:
            chatter.seek(0)
            os.write(kept, chatter.read())
            raise
        finally:
            os.dup2(kept, 2)
            os.close(kept)


def print_json(value: Any) -> None:
    """Print a value as one line of JSON on stdout, in ASCII if its encoding lacks a character."""
    text = json.dumps(value, ensure_ascii=False)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        text = json.dumps(value)
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def read_utf8(content: bytes | str, name: str) -> str:
    """Text that came from outside: bytes, or a word of the command line.

    Python hides what is not UTF-8 in the command line behind lone surrogates; they are turned back,
    so that the message names the byte that was typed.

    Raises:
        InvalidRequestError: it is not UTF-8; the message begins with `name`.
    """
    try:
        return (content if isinstance(content, bytes) else os.fsencode(content)).decode("utf-8")
    except UnicodeError as error:
        raise InvalidRequestError(
            f"{name} is not UTF-8: {error}.", field=name, remedy="Convert it to UTF-8 first."
        ) from error


def stream(piece: str) -> None:
    """Write a piece of a model's answer on stdout; a terminal gets control characters as visible escapes."""
    from pipeline.terminal import visible

    sys.stdout.write(visible(piece, keep="\n\t") if sys.stdout.isatty() else piece)
    sys.stdout.flush()


def fail(error: TokenmillError) -> int:
    """Print an error for people on stderr and return its exit code."""
    click.secho("error: ", fg="red", bold=True, nl=False, err=True)
    say(str(error), err=True)
    return error.codes.exit
