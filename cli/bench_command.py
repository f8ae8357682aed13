"""`tokenmill bench`: measure Tokenmill beside others."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from cli.bench_tokenizer_command import command as tokenizer_command
from cli.console import json_option, print_json, say, stdout_console
from models.contract.errors import ConfigError

if TYPE_CHECKING:
    from cli.bench_plan import BenchPlan

_DTYPES = ("float32", "bfloat16", "int8")
_OUT = Path(".tokenmill/bench")
_NOT_WITH_PACKAGE = {"dtypes": "--dtype", "xla": "--xla", "reuse": "--reuse"}
"""Parameters of the packages that are made for a benchmark, and their options."""


class _Words(click.ParamType):
    """Values with commas between them.

    Args:
        choices: what is allowed; None allows positive numbers.
    """

    name = "list"

    def __init__(self, choices: tuple[str, ...] | None = None) -> None:
        self._choices = choices

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[Any, ...]:
        """The values, each once."""
        if isinstance(value, tuple):
            return value
        words = [word.strip() for word in str(value).split(",") if word.strip()]
        if not words:
            self.fail("the list is empty", param, ctx)
        wrong = [word for word in words if not self._allows(word)]
        if wrong:
            wanted = ", ".join(self._choices) if self._choices else "positive numbers"
            self.fail(f"{wrong[0]!r} is not one of: {wanted}", param, ctx)
        return tuple(dict.fromkeys(words if self._choices else map(int, words)))

    def _allows(self, word: str) -> bool:
        return word in self._choices if self._choices else word.isdecimal() and int(word) > 0


_PEERS = ("pytorch", "ctranslate2", "llamacpp", "kerashub")


@click.group(name="bench")
def command() -> None:
    """Measure Tokenmill beside others, in turns on this machine.

    \b
    Example:
      tokenmill bench decode --random gpt2 --peers none
    """


command.add_command(tokenizer_command)


@command.command(name="decode")
@click.option("--package", type=click.Path(path_type=Path), help="Package's version directory or its base.")
@click.option("--checkpoint", type=click.Path(path_type=Path), help="Hugging Face checkpoint directory.")
@click.option("--random", type=click.Choice(["gpt2"]), help="A model of that size with random weights.")
@click.option(
    "--dtype",
    "dtypes",
    type=_Words(_DTYPES),
    default="float32",
    show_default=True,
    help="Of our weights; a package has its own.",
)
@click.option(
    "--xla",
    type=click.Choice(["auto", "off"]),
    default="auto",
    show_default=True,
    help="auto: profile `latency` for batch 1, `throughput` for larger ones.",
)
@click.option("--batch", "batches", type=_Words(), default="1,8,16", show_default=True, help="Rows.")
@click.option("--prompt", type=click.IntRange(min=2), default=64, show_default=True, help="Ids per prompt.")
@click.option("--tokens", type=click.IntRange(min=2), default=128, show_default=True, help="Ids per answer.")
@click.option("--steps", type=click.IntRange(1, 16), default=16, show_default=True, help="Per decode call.")
@click.option("--peers", type=_Words((*_PEERS, "none")), default=",".join(_PEERS), show_default=True)
@click.option(
    "--peer-python",
    type=click.Path(path_type=Path),
    help="Python with the peers' packages; by default this one.",
)
@click.option("--rounds", type=click.IntRange(min=1), default=3, show_default=True, help="Turns per engine.")
@click.option("--threads", type=click.IntRange(min=1), help="Per engine; by default the cores there are.")
@click.option("--sampled", is_flag=True, help="Also sample: temperature 1, top_k 50, top_p 0.95.")
@click.option("--reuse", is_flag=True, help="Take the packages of the last run in --out instead of new ones.")
@click.option("--out", type=click.Path(path_type=Path), default=_OUT, show_default=True, help="For results.")
@click.option("--profile", type=click.Path(path_type=Path), help="Also write a TensorBoard trace there.")
@json_option
def decode(as_json: bool, **options: Any) -> None:
    """Prefill and decode speed, side by side with other engines on the same weights.

    Every engine runs in a process of its own; they take turns, and what counts is the ratio within a
    round: this machine's speed changes over minutes. The memory's read bandwidth is measured before each
    turn; a step cannot be faster than its weights are read. OUT receives decode.json with the raw figures
    of every turn, decode.html and decode.svg. Engines that are not installed are named in the table.

    A --package is measured as it is, with the dtype and profile of its manifest; the table names batches that
    its profile is not for. Packages of a --checkpoint or of --random are made for every --dtype and batch.

    \b
    Examples:
      tokenmill bench decode --random gpt2 --peer-python .tokenmill/peers/bin/python
      tokenmill bench decode --checkpoint .tokenmill/smollm2 --batch 1 --dtype float32,int8 --peers none
      tokenmill bench decode --package .tokenmill/models/mine --peers none --profile ./trace --json
    """
    from cli.bench_plan import BenchPlan

    sources = [name for name in ("package", "checkpoint", "random") if options[name] is not None]
    if len(sources) != 1:
        raise ConfigError(
            f"bench decode needs one of --package, --checkpoint and --random, got {len(sources)}.",
            field="package",
            remedy="For example --random gpt2.",
        )
    if options["package"] is not None:
        _refuse_what_a_package_decides(click.get_current_context())
    plan = BenchPlan(**options)
    plan.check()
    say(plan.estimate(), err=True)
    _run(plan, as_json)


def _refuse_what_a_package_decides(context: click.Context) -> None:
    for name, option in _NOT_WITH_PACKAGE.items():
        if context.get_parameter_source(name) in (ParameterSource.COMMANDLINE, ParameterSource.ENVIRONMENT):
            raise ConfigError(
                f"{option} was given together with --package.",
                field=option.removeprefix("--"),
                remedy="A package is measured as it is: its manifest says its dtype and profile.",
            )


def _run(plan: BenchPlan, as_json: bool) -> None:
    from cli.bench_table import bench_tables
    from serving.benchmarks.decode_report import write_report

    result = plan.run(lambda line: say(line, err=True))
    files = write_report(result, plan.out)
    if as_json:
        print_json({**result, "files": [str(file) for file in files]})
        return
    console = stdout_console()
    for table in bench_tables(result):
        console.print(table)
    say(f"Written: {', '.join(map(str, files))}", err=True)
    sys.stdout.flush()
