"""`tokenmill generate` against a server; what needs a package is in tests/e2e."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from cli.generate_command import command
from models.contract.errors import InvalidRequestError, OverloadedError
from tests.serving.gateway.fake_engine import FakeEngine, running_gateway

ROOT = Path(__file__).resolve().parents[2]
FEW = ("--max-tokens", "20")


def generate(
    *words: str, cwd: Path = ROOT, encoding_of_output: str = "utf-8", **kwargs
) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-m", "cli.main", "generate", *words]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": encoding_of_output}
    return subprocess.run(
        line, capture_output=True, encoding="utf-8", cwd=cwd, env=environment, check=False, **kwargs
    )


@pytest.fixture(scope="module")
def url():
    with running_gateway() as gateway:
        yield gateway.url


def test_text_goes_to_stdout_and_nothing_else(url):
    done = generate("--url", url, *FEW, "Hi")
    assert done.returncode == 0
    assert done.stdout == "Hello, mill!\n"
    assert "12 tokens (stop)" in done.stderr


def test_json_has_ids_text_reason_and_logprobs(url):
    done = generate("--url", url, *FEW, "--json", "Hi")
    assert json.loads(done.stdout) == {
        "ids": list(b"Hello, mill!"),
        "text": "Hello, mill!",
        "finish_reason": "stop",
        "logprobs": [-0.5] * 12,
    }
    assert done.stderr == ""


def test_text_streams_as_it_comes():
    with running_gateway(FakeEngine(interval=0.2)) as gateway:
        line = [sys.executable, "-m", "cli.main", "generate", "--url", gateway.url, *FEW, "Hi"]
        with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT) as process:
            first = process.stdout.read(1)
            running = bool(gateway.engine.running)
            rest = process.stdout.read()
    assert first + rest == b"Hello, mill!\n"
    assert running, "the first piece came only when the answer was complete"


def test_sampling_options_reach_the_server():
    with running_gateway() as gateway:
        options = ("--temperature", "0.5", "--top-p", "0.9", "--top-k", "7", "--min-p", "0.1", "--seed", "3")
        done = generate("--url", gateway.url, *FEW, *options, "--stop", "\\n\\n", "--stop", "END", "--", "-x")
        ((ids, params),) = gateway.engine.requests.values()
    assert done.returncode == 0
    assert bytes(ids) == b"-x"
    assert (params.temperature, params.top_p, params.top_k, params.min_p) == (0.5, 0.9, 7, 0.1)
    assert (params.seed, params.stop) == (3, ("\n\n", "END"))


def test_penalties_biases_and_least_length_reach_the_server():
    with running_gateway() as gateway:
        options = ("--repetition-penalty", "1.2", "--frequency-penalty", "0.5", "--presence-penalty", "-0.5")
        biases = ("--logit-bias", "7=1.5", "--logit-bias", "5=-100", "--min-tokens", "3")
        done = generate("--url", gateway.url, *FEW, *options, *biases, "Hi")
        ((_, params),) = gateway.engine.requests.values()
    assert done.returncode == 0, done.stderr
    assert (params.repetition_penalty, params.frequency_penalty, params.presence_penalty) == (1.2, 0.5, -0.5)
    assert (params.logit_bias, params.min_tokens) == (((5, -100.0), (7, 1.5)), 3)


@pytest.mark.parametrize("value", ["7", "a=1", "7=", "=1", "7=x"])
def test_a_bias_that_is_no_pair_is_named(value):
    result = CliRunner().invoke(command, ["--logit-bias", value, "Hi"], standalone_mode=False)
    assert isinstance(result.exception, InvalidRequestError)
    assert str(result.exception) == f"`--logit-bias` is {value!r}. It must be like 198=-100."


def test_a_server_chooses_itself_whether_to_speculate(url):
    done = generate("--url", url, "--no-speculate", "Hi")
    assert done.returncode == 2
    assert "`--speculate` is given with `--url`" in done.stderr


def test_a_dash_reads_the_prompt_from_stdin():
    with running_gateway() as gateway:
        assert generate("--url", gateway.url, *FEW, "-", input="zwei\nZeilen é").returncode == 0
        ((ids, _),) = gateway.engine.requests.values()
    assert bytes(ids).decode() == "zwei\nZeilen é"


def test_a_prompt_that_is_not_utf8_is_named(url):
    line = [sys.executable, "-m", "cli.main", "generate", "--url", url, "-"]
    done = subprocess.run(line, capture_output=True, input=b"a\xff", cwd=ROOT, check=False)
    assert done.returncode == 2
    assert b"the prompt is not UTF-8" in done.stderr
    assert b"Traceback" not in done.stderr


def test_a_refusal_is_the_servers_message_and_exit_code_2(url):
    done = generate("--url", url, "--max-tokens", "1000000", "Hi")
    assert done.returncode == 2
    assert "1000000" in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize("where", [("--url", "http://127.0.0.1:9"), ("--package", "nowhere")])
@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--temperature", "nan"),
        ("--temperature", "7"),
        ("--top-p", "inf"),
        ("--min-p", "-1"),
        ("--top-k", "-1"),
        ("--seed", str(2**63)),
        ("--max-tokens", "0"),
        ("--repetition-penalty", "0"),
        ("--frequency-penalty", "3"),
        ("--presence-penalty", "nan"),
        ("--min-tokens", "-1"),
        ("--stop", ""),
    ],
)
def test_a_value_out_of_range_names_its_option_wherever_it_goes(where, option, value):
    result = CliRunner().invoke(command, [*where, option, value, "Hi"], standalone_mode=False)
    assert isinstance(result.exception, InvalidRequestError)
    assert str(result.exception).startswith(f"`{option}` is ")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--logit-bias=-1=3"], "`--logit-bias` is {-1: 3.0}. It must be of ids of at least 0."),
        (
            ["--min-tokens", "200"],
            "`--min-tokens` is 200. It must be 0 to `--max-tokens` (128, its default).",
        ),
        (
            ["--min-tokens", "9", "--max-tokens", "8"],
            "`--min-tokens` is 9. It must be 0 to `--max-tokens` (8).",
        ),
        (
            ["--min-tokens", "200", "--max-tokens", "128"],
            "`--min-tokens` is 200. It must be 0 to `--max-tokens` (128).",
        ),
        (
            ["--top-p", "1e-50"],
            "`--top-p` is 1e-50. It must be a number from 1.18e-38 to 1; for the best id alone use "
            "`--temperature` 0 or `--top-k` 1.",
        ),
    ],
)
def test_a_refusal_speaks_of_what_was_given_and_of_options(options, words):
    result = CliRunner().invoke(command, [*options, "Hi"], standalone_mode=False)
    assert isinstance(result.exception, InvalidRequestError)
    assert str(result.exception) == words


def test_not_a_number_is_exit_code_2_without_a_traceback():
    done = generate("--url", "http://127.0.0.1:9", "--temperature", "nan", "Hi")
    assert done.returncode == 2
    assert "`--temperature` is nan. It must be a number from 0 to 2." in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("words", [[b"a\xffb"], [b"--stop", b"\xff", b"Hi"]])
def test_an_argument_that_is_not_utf8_is_named(url, words):
    done = subprocess.run(
        [sys.executable, "-m", "cli.main", "generate", "--url", url, *words],
        capture_output=True,
        cwd=ROOT,
        check=False,
    )
    assert done.returncode == 2
    assert b"is not UTF-8: 'utf-8' codec can't decode byte 0xff" in done.stderr
    assert b"Traceback" not in done.stderr


def test_json_stays_json_where_the_terminal_knows_no_more_than_ascii():
    with running_gateway(FakeEngine([(c, 97) for c in "中é😀"])) as gateway:
        done = generate("--url", gateway.url, *FEW, "--json", "Hi", encoding_of_output="ascii")
    assert done.returncode == 0
    assert done.stdout.isascii()
    assert json.loads(done.stdout)["text"] == "中é😀"


def test_text_is_escaped_where_the_terminal_knows_no_more_than_ascii():
    with running_gateway(FakeEngine([(c, 97) for c in "中é"])) as gateway:
        done = generate("--url", gateway.url, *FEW, "Hi", encoding_of_output="ascii")
    assert done.returncode == 0
    assert done.stdout == "\\u4e2d\\xe9\n"


@pytest.mark.parametrize("where", ["http://127.0.0.1:9", "http://no.such.host.invalid"])
def test_a_server_that_is_not_there_is_named_with_exit_code_6(where):
    done = generate("--url", where, "Hi")
    assert done.returncode == 6
    assert where in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("where", ["no-url", "ftp://host", "http://a:b", "http://"])
def test_what_is_no_url_is_named_with_exit_code_2(where):
    done = generate("--url", where, "Hi")
    assert done.returncode == 2
    assert f"{where!r} is no URL" in done.stderr


def test_an_overloaded_server_is_exit_code_6():
    with running_gateway(FakeEngine(failure=OverloadedError("full.", retry_after=0.1))) as gateway:
        done = generate("--url", gateway.url, *FEW, "Hi")
    assert done.returncode == 6
    assert "full." in done.stderr


def test_package_and_url_exclude_each_other(url):
    done = generate("--url", url, "--package", ".", "Hi")
    assert done.returncode == 2
    assert "`--package` and `--url`" in done.stderr


def test_without_any_package_it_says_how_to_make_one(tmp_path):
    done = generate("Hi", cwd=tmp_path)
    assert done.returncode == 2
    assert "no model package under .tokenmill/models" in done.stderr
    assert "make quick" in done.stderr


def test_a_missing_package_is_named_with_exit_code_4(tmp_path):
    done = generate("--package", "nowhere", "Hi", cwd=tmp_path)
    assert done.returncode == 4
    assert "package nowhere does not exist" in done.stderr


def test_a_configuration_that_does_not_fit_is_named(tmp_path):
    (tmp_path / "tokenmill.yaml").write_text("push: {directory: 3}\n")
    done = generate("Hi", cwd=tmp_path)
    assert done.returncode == 2
    assert "tokenmill.yaml" in done.stderr
    assert "push.directory" in done.stderr


def test_from_a_url_it_imports_nothing_heavy(url):
    probe = (
        "import sys, cli.main\n"
        f"cli.main.cli(['generate', '--url', {url!r}, '--max-tokens', '20', 'Hi'], standalone_mode=False)\n"
        "heavy = {'tensorflow', 'keras', 'numpy', 'pydantic', 'yaml', 'asyncio'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", probe], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
