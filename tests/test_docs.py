"""README, CONTRIBUTING and the command line agree."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import pytest

from cli.main import cli

ROOT = Path(__file__).resolve().parent.parent
DOCS = ["README.md", "CONTRIBUTING.md", "client/README.md"]


def _console_lines(document: str) -> list[str]:
    blocks = re.findall(r"```console\n(.*?)```", (ROOT / document).read_text(), re.S)
    joined = "\n".join(blocks).replace("\\\n", " ")
    return [line.split("  #")[0].strip().removeprefix("$ ") for line in joined.splitlines() if line.strip()]


LINES = [(document, line) for document in DOCS for line in _console_lines(document)]
MAKE = [pytest.param(line, id=f"{document}:{line}") for document, line in LINES if line.startswith("make ")]
MILL = [
    pytest.param(line, id=f"{document}:{line}")
    for document, line in LINES
    if re.match(r"(\.venv/bin/)?tokenmill ", line)
]


@pytest.mark.parametrize("line", MAKE)
def test_a_documented_make_target_exists_and_is_listed_by_help(line: str):
    makefile = (ROOT / "Makefile").read_text()
    for target in shlex.split(line)[1:]:
        assert re.search(rf"^{target}:.*## ", makefile, re.M), target


@pytest.mark.parametrize("line", MILL)
def test_a_documented_command_parses(line: str):
    words = shlex.split(line.split(" | ")[0].removesuffix("&"))[1:]
    command: click.Command = cli
    context = click.Context(cli)
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        name = words.pop(0)
        command = command.get_command(context, name)
        assert command is not None, f"no command {name!r}"
    command.make_parser(click.Context(command)).parse_args(args=words)


def test_the_readme_shows_the_way_from_clone_to_tokens():
    lines = [line for document, line in LINES if document == "README.md"]
    for needed in ("make demo", "make quick", "make test"):
        assert needed in lines
    assert any("tokenmill serve" in line for line in lines)
