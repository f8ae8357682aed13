"""`tokenmill generate`: a completion streamed to the terminal, from a package or from a server."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click

from cli.console import json_option, print_json, quiet_tensorflow, read_utf8, say, stream
from models.contract.errors import ConfigError, InvalidRequestError, UnavailableError

DEFAULT_MAX_TOKENS = 128
CONFIG_FILE = Path("tokenmill.yaml")
OF_THE_ENGINE = (
    "stop",
    "repetition_penalty",
    "frequency_penalty",
    "presence_penalty",
    "logit_bias",
    "min_tokens",
)
"""Sampling options that only an engine with KV memory has."""


@dataclass(slots=True)
class Piece:
    """What one step or one event added to the answer."""

    text: str
    ids: list[int] = field(default_factory=list)
    logprobs: list[float] | None = field(default_factory=list)
    finish_reason: str | None = None


@click.command(name="generate")
@click.argument("prompt")
@click.option(
    "--package",
    type=click.Path(path_type=Path),
    help="Model package; by default the newest one under the push directory of tokenmill.yaml.",
)
@click.option("--url", help="Ask this server instead, e.g. http://127.0.0.1:8000.")
@click.option(
    "--max-tokens", type=int, help=f"Most tokens to generate.  [default: {DEFAULT_MAX_TOKENS}, or what fits]"
)
@click.option("--temperature", type=float, default=0.7, show_default=True, help="0 is greedy.")
@click.option("--top-p", type=float, default=1.0, show_default=True, help="Keep ids that together reach it.")
@click.option("--top-k", type=int, default=0, show_default=True, help="Keep the k best ids; 0 keeps all.")
@click.option(
    "--min-p", type=float, default=0.0, show_default=True, help="Drop ids below min_p times the best one."
)
@click.option("--seed", type=int, help="Makes sampling repeatable.")
@click.option("--repetition-penalty", type=float, help="Above 1: ids of prompt and answer are less likely.")
@click.option(
    "--frequency-penalty", type=float, help="Taken off a logit for each time the answer has its id."
)
@click.option("--presence-penalty", type=float, help="Taken off a logit if the answer has its id.")
@click.option(
    "--logit-bias",
    multiple=True,
    metavar="ID=VALUE",
    help="Added to an id's logit, -100 to 100; may be given often.",
)
@click.option("--min-tokens", type=int, help="No end id before so many tokens.")
@click.option(
    "--speculate/--no-speculate",
    default=None,
    help="Guess ahead where the text repeats itself; the answer is the same. Pays for long answers, since a "
    "package in this process prepares one more kind of step.  [default: no-speculate]",
)
@click.option("--stop", multiple=True, help="String that ends the answer; may be given up to four times.")
@json_option
def command(
    prompt: str,
    package: Path | None,
    url: str | None,
    max_tokens: int | None,
    speculate: bool | None,
    as_json: bool,
    **sampling: Any,
) -> None:
    """Continue PROMPT (`-` reads it from stdin), streaming the text as it comes.

    With --json it prints {"ids": …, "text": …, "finish_reason": …, "logprobs": …} at the end instead.

    A stateless package answers by its own generate: all at once, without penalties, biases, stop strings
    and guesses. It tells no logprobs of single tokens: with --json they are null.

    \b
    Examples:
      tokenmill generate "def fibonacci("
      tokenmill generate --url http://127.0.0.1:8000 --max-tokens 64 --temperature 0 "import os"
      tokenmill generate --temperature 0 --repetition-penalty 1.2 --logit-bias 198=-100 "def main():"
      cat module.py | tokenmill generate --json --stop "\\n\\n" -
    """
    if package is not None and url is not None:
        raise ConfigError(
            "`--package` and `--url` are both given.", field="--url", remedy="Name one of them."
        )
    if url is not None and speculate is not None:
        raise ConfigError(
            "`--speculate` is given with `--url`.", field="--speculate", remedy="It is the server's choice."
        )
    text = read_utf8(sys.stdin.buffer.read() if prompt == "-" else prompt, "the prompt")
    sampling = {name: value for name, value in sampling.items() if value is not None}
    # A shell cannot type a newline easily, so that backslash escapes stand for themselves.
    stops = [read_utf8(stop, "`--stop`") for stop in sampling["stop"]]
    sampling["stop"] = tuple(stop.replace("\\n", "\n").replace("\\t", "\t") for stop in stops)
    sampling["logit_bias"] = tuple(map(_bias, sampling["logit_bias"]))
    _check(max_tokens, sampling)
    pieces = (
        _from_url(url, text, max_tokens, sampling)
        if url is not None
        else _from_package(
            package or _default_package(), text, max_tokens, sampling, speculate is True, not as_json
        )
    )
    if as_json:
        _print_json(list(pieces))
    else:
        _stream(text, pieces)


def _bias(text: str) -> tuple[int, float]:
    token, _, value = text.partition("=")
    try:
        return int(token), float(value)
    except ValueError as error:
        raise InvalidRequestError(
            f"`--logit-bias` is {text!r}.", field="--logit-bias", remedy="It must be like 198=-100."
        ) from error


def _check(max_tokens: int | None, sampling: dict[str, Any]) -> None:
    """Refuse what no model takes, naming the option; the same for a package and for a server."""
    from models.contract.sampling_params import SamplingParams

    try:
        SamplingParams(max_tokens=DEFAULT_MAX_TOKENS if max_tokens is None else max_tokens, **sampling)
    except InvalidRequestError as error:
        option = _option(str(error.field))
        message = error.message.replace(f"`{error.field}`", f"`{option}`", 1)
        # Not in the message too, whose value is the user's own text.
        remedy = re.sub(r"`([a-z_]+)`", lambda name: f"`{_option(name[1])}`", error.remedy or "")
        if max_tokens is None:
            remedy = remedy.replace(f"({DEFAULT_MAX_TOKENS})", f"({DEFAULT_MAX_TOKENS}, its default)")
        raise InvalidRequestError(message, field=option, remedy=remedy) from error


def _option(field: str) -> str:
    return f"--{field.replace('_', '-')}"


def _print_json(pieces: list[Piece]) -> None:
    logprobs = [piece.logprobs for piece in pieces]
    print_json(
        {
            "ids": [i for piece in pieces for i in piece.ids],
            "text": "".join(piece.text for piece in pieces),
            "finish_reason": pieces[-1].finish_reason,
            "logprobs": None if None in logprobs else [value for part in logprobs for value in part],
        }
    )


def _stream(prompt: str, pieces: Iterator[Piece]) -> None:
    started = time.monotonic()
    first, count, opening, reason = started, 0, 0, None
    for piece in pieces:
        if not count:
            first, opening = time.monotonic(), len(piece.ids)
            if sys.stdout.isatty():
                click.secho(prompt, dim=True, nl=False)
        stream(piece.text)
        count += len(piece.ids)
        reason = piece.finish_reason or reason
    sys.stdout.write("\n")
    sys.stdout.flush()
    seconds = time.monotonic() - first
    rate = f", {(count - opening) / seconds:.1f} tokens/s after it" if count > opening and seconds else ""
    say(f"{count} tokens ({reason}); the first after {first - started:.2f} s{rate}", err=True)


def _from_url(url: str, prompt: str, max_tokens: int | None, sampling: dict[str, Any]) -> Iterator[Piece]:
    import tokenmill_client

    max_tokens = DEFAULT_MAX_TOKENS if max_tokens is None else max_tokens
    # What is not given is left out, for servers that do not know it.
    biases = sampling.pop("logit_bias")
    sampling |= {"logit_bias": dict(biases)} if biases else {}
    try:
        client = tokenmill_client.Client(url)
    except ValueError as error:
        raise ConfigError(
            f"{error}.", field="--url", remedy="Name one like http://127.0.0.1:8000."
        ) from error
    with client:
        try:
            for chunk in client.stream(prompt, max_tokens=max_tokens, logprobs=0, token_ids=True, **sampling):
                logprobs = list(chunk.logprobs.token_logprobs) if chunk.logprobs else []
                if chunk.usage is None:
                    yield Piece(chunk.text, list(chunk.token_ids), logprobs, chunk.finish_reason)
        except tokenmill_client.UnsendableRequestError as error:
            raise InvalidRequestError(str(error), field=error.param) from error
        except tokenmill_client.ClientError as error:
            refused = isinstance(error, tokenmill_client.RequestRefusedError)
            if refused and not isinstance(error, tokenmill_client.RateLimitedError):
                raise InvalidRequestError(str(error)) from error
            silent = isinstance(error, tokenmill_client.ConnectionFailedError)
            remedy = "Is `tokenmill serve` running there?" if silent else None
            raise UnavailableError(f"{url}: {error}", remedy=remedy) from error


def _from_package(
    package: Path,
    prompt: str,
    max_tokens: int | None,
    sampling: dict[str, Any],
    speculation: bool,
    stream: bool,
) -> Iterator[Piece]:
    from models.contract.manifest import Manifest
    from models.contract.package import resolve_package
    from models.contract.sampling_params import SamplingParams

    version = resolve_package(package)
    stateless = Manifest.load(version).is_stateless
    if stateless:
        _refuse_options_of_the_engine(version, sampling, speculation)
    params = SamplingParams(
        max_tokens=DEFAULT_MAX_TOKENS if max_tokens is None else max_tokens, logprobs=0, **_seeded(sampling)
    )
    say(f"Loading {version}", err=True)
    quiet_tensorflow()
    from serving.runners.local_runner import LocalRunner
    from serving.runners.local_stream import answer_locally, stream_locally

    with LocalRunner(version) as runner:
        if stateless:
            answer = answer_locally(runner, prompt, params, cap_max_tokens=max_tokens is None)
            yield Piece(answer.text, answer.ids, None, answer.finish_reason)
            return
        outputs = stream_locally(
            runner, prompt, params, cap_max_tokens=max_tokens is None, stream=stream, speculation=speculation
        )
        for output in outputs:
            reason = output.finish_reason.value if output.finish_reason else None
            ids, logprobs = [t.id for t in output.tokens], [t.logprob for t in output.tokens]
            yield Piece(output.text_delta, ids, logprobs, reason)


def _refuse_options_of_the_engine(package: Path, sampling: dict[str, Any], speculation: bool) -> None:
    given = [name for name in OF_THE_ENGINE if sampling.get(name, ()) != ()]
    if given or speculation:
        option = "--" + given[0].replace("_", "-") if given else "--speculate"
        raise ConfigError(
            f"`{option}` is given, but {package} is stateless: its own generate does not take it.",
            field=option,
            remedy="Leave it out, or name a package that was exported without `--stateless`.",
        )


def _seeded(sampling: dict[str, Any]) -> dict[str, Any]:
    import secrets

    return {"seed": secrets.randbits(63), **sampling}


def _default_package() -> Path:
    """The newest package under the push directory, whatever its model.

    Raises:
        ConfigError: tokenmill.yaml does not fit, or there is no package.
    """
    from models.contract.manifest import MANIFEST_PATH
    from models.contract.package import versions

    directory = _push_directory()
    bases = [base for base in directory.iterdir() if base.is_dir()] if directory.is_dir() else []
    packages = [base / str(version) for base in bases for version in versions(base)]
    if not packages:
        raise ConfigError(
            f"there is no model package under {directory}.",
            field="--package",
            remedy="Make one with `make quick` or `tokenmill run`, or name one with `--package`.",
        )
    return max(packages, key=lambda package: (package / MANIFEST_PATH).stat().st_mtime)


def _push_directory() -> Path:
    if not CONFIG_FILE.is_file():
        return Path(".tokenmill/models")
    from pipeline.config import RunConfig

    return RunConfig.load(CONFIG_FILE).push.directory
