from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from cli.tokenize_command import command
from models.contract.errors import CheckpointError, ConfigError, DataError, InvalidRequestError
from preprocessing.tokenizers import write_byte_tokenizer


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    write_byte_tokenizer(tmp_path)
    return tmp_path


def run(directory: Path, *arguments: str, stdin: bytes = b""):
    return CliRunner().invoke(
        command, ["--tokenizer", str(directory), *arguments], input=stdin, standalone_mode=False
    )


def test_json_strings_of_stdin_become_lists_of_ids(directory: Path):
    result = run(directory, "--jsonl", stdin='"ab"\n""\r\n"\\u00e9\\n"\n"日"'.encode())
    assert [json.loads(line) for line in result.stdout.splitlines()] == [
        [97, 98],
        [],
        [0xC3, 0xA9, 10],
        list("日".encode()),
    ]


def test_json_strings_of_a_file_do_too(directory: Path):
    lines = [json.dumps("x" * length) for length in (1, 70_000, 3, 400_000, 2)]
    (directory / "texts").write_text("\n".join(lines) + "\n")
    result = run(directory / "tokenizer.json", "--jsonl", str(directory / "texts"))
    assert [len(json.loads(line)) for line in result.stdout.splitlines()] == [1, 70_000, 3, 400_000, 2]


@pytest.mark.parametrize("bad", [b'"b', b"7", b"", b'"\xff"', b'"\\ud800"', b"[" * 200_000])
def test_a_bad_line_is_named(directory: Path, bad: bytes):
    result = run(directory, "--jsonl", stdin=b'"a"\n' + bad + b'\n"c"\n')
    assert isinstance(result.exception, DataError)
    assert str(result.exception).startswith("stdin: line 2 ")
    assert result.stdout == "[97]\n"


@pytest.mark.parametrize("option", [["--json"], ["--color", "never"], ["--color", "auto"]])
def test_options_that_change_nothing_beside_jsonl_are_refused(directory: Path, option: list[str]):
    result = run(directory, "--jsonl", *option, stdin=b'"a"')
    assert isinstance(result.exception, ConfigError)
    assert str(result.exception).endswith(f"Remove {option[0]} or --jsonl.")


def test_a_text_shows_its_ids_and_pieces(directory: Path):
    result = run(directory, "a é")
    assert result.stdout.split("\n")[:3] == ["      97  'a'", "      32  ' '", "     195  b'\\xc3'"]
    assert result.stderr == "4 tokens, 4 bytes, 3 characters, 1.00 bytes per token\n"


def test_the_text_is_shown_on_colours_only_where_there_are_colours(
    directory: Path, monkeypatch: pytest.MonkeyPatch
):
    plain = run(directory, "a é").stdout
    assert "\x1b" not in plain
    assert run(directory, "--color", "never", "a é").stdout == plain
    monkeypatch.setenv("NO_COLOR", "1")
    coloured = run(directory, "--color", "always", "a é").stdout
    assert coloured.endswith("\n\n" + plain)
    assert coloured.startswith("\x1b[")
    assert re.sub(r"\x1b\[[\d;]*m", "", coloured).splitlines()[0] == "a·<c3><a9>"
    assert run(directory, "--color", "always", "--json", "a").stdout == run(directory, "--json", "a").stdout


def test_special_tokens_are_text_unless_asked_for(directory: Path):
    text = "a<|endoftext|>"
    assert json.loads(run(directory, "--json", text).stdout)["ids"] == list(text.encode())
    marked = json.loads(run(directory, "--json", "--special", text).stdout)
    assert marked == {"ids": [97, 256], "pieces": ["a", "<|endoftext|>"]}


def test_faults_are_told(directory: Path):
    assert isinstance(run(directory).exception, ConfigError)
    assert isinstance(run(directory, "--jsonl", str(directory / "no")).exception, DataError)
    assert isinstance(run(directory / "no", "text").exception, CheckpointError)


def test_an_argument_that_is_not_utf8_is_told_as_such(directory: Path):
    result = run(directory, os.fsdecode(b"a\xffb"))
    assert isinstance(result.exception, InvalidRequestError)
    assert str(result.exception).startswith("the text is not UTF-8: 'utf-8' codec can't decode byte 0xff")
