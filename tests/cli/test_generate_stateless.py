"""`tokenmill generate` from a package without KV memory."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from cli.generate_command import command
from models.contract.errors import ConfigError
from models.contract.sampling_params import SamplingParams
from serving.runners.local_runner import LocalRunner
from tests.tiny_package import tiny_checkpoint, tiny_package, tiny_stateless_package

__all__ = ["tiny_checkpoint", "tiny_package", "tiny_stateless_package"]

GREEDY = ("--temperature", "0")


def generate(package: Path, *words: str):
    return CliRunner().invoke(command, ["--package", str(package), *words, "def the ring"])


def test_it_answers_as_the_package_itself_does(tiny_stateless_package: Path, tiny_package: Path):
    done = generate(tiny_stateless_package, *GREEDY, "--max-tokens", "12", "--json")
    assert done.exception is None
    found = json.loads(done.stdout)
    with LocalRunner(tiny_stateless_package) as runner:
        params = SamplingParams(max_tokens=12, temperature=0.0)
        (wanted,) = runner.generate(["def the ring"], params)
    assert found == {
        "ids": wanted.ids,
        "text": wanted.text,
        "finish_reason": wanted.finish_reason,
        "logprobs": None,
    }
    stateful = json.loads(generate(tiny_package, *GREEDY, "--max-tokens", "12", "--json").stdout)
    assert list(stateful) == list(found)
    assert len(stateful.pop("logprobs")) == len(stateful["ids"])
    assert stateful == {name: found[name] for name in stateful}


def test_people_read_the_text_and_no_rate_of_one_piece(tiny_stateless_package: Path):
    done = generate(tiny_stateless_package, *GREEDY, "--max-tokens", "5", "--no-speculate")
    assert done.exception is None
    assert "5 tokens (length)" in done.stderr
    assert "tokens/s" not in done.stderr


def test_without_a_number_of_tokens_it_takes_what_fits(tiny_stateless_package: Path):
    words = ["--package", str(tiny_stateless_package), *GREEDY, "--json", "x" * 250]
    found = json.loads(CliRunner().invoke(command, words).stdout)
    assert 1 <= len(found["ids"]) <= 6


@pytest.mark.parametrize(
    ("option", "values"),
    [
        ("--stop", ["a"]),
        ("--repetition-penalty", ["1.2"]),
        ("--frequency-penalty", ["0.5"]),
        ("--presence-penalty", ["0.5"]),
        ("--logit-bias", ["5=1"]),
        ("--min-tokens", ["2"]),
        ("--speculate", []),
    ],
)
def test_options_of_the_engine_are_refused_by_name(
    tiny_stateless_package: Path, option: str, values: list[str]
):
    done = generate(tiny_stateless_package, option, *values)
    assert isinstance(done.exception, ConfigError)
    assert done.exception.field == option
    assert f"`{option}` is given, but {tiny_stateless_package} is stateless" in str(done.exception)
    assert "Loading" not in done.stderr
