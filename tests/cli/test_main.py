from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest

from cli.main import COMMANDS, cli

ROOT = Path(__file__).resolve().parents[2]


def tokenmill(*words: str, **kwargs) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "cli.main", *words]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False, **kwargs)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_helps_with_an_example(name: str):
    command = cli.get_command(click.Context(cli), name)
    text = command.get_help(click.Context(command, info_name=f"tokenmill {name}"))
    assert "Example" in text
    assert f"tokenmill {name}" in text


def test_help_lists_every_command_and_the_exit_codes():
    done = tokenmill("--help")
    assert done.returncode == 0
    assert [name for name in COMMANDS if not re.search(rf"^  {name}\b", done.stdout, re.M)] == []
    assert "not blessed" in done.stdout


def test_help_and_doctor_start_without_tensorflow():
    probe = (
        "import sys, cli.main\n"
        "try: cli.main.cli(['--help'], standalone_mode=False)\n"
        "finally: assert not {'tensorflow', 'keras', 'tfx'} & set(sys.modules), 'heavy import'\n"
    )
    subprocess.run([sys.executable, "-c", probe], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)


def test_doctor_prints_one_json_value():
    done = tokenmill("doctor", "--json")
    report = json.loads(done.stdout)
    assert report["ok"] == (done.returncode == 0)
    assert {"glibc", "memory", "disk", "tensorflow", "CPU features"} <= {
        check["name"] for check in report["checks"]
    }


def test_an_unknown_command_exits_with_2_and_no_traceback():
    done = tokenmill("grind")
    assert done.returncode == 2
    assert "No such command" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("words", [("--help",), ("generate", "--help"), ("doctor",), ("doctor", "--json")])
def test_a_reader_that_has_left_ends_the_command_without_a_word(words):
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "cli.main", *words],
            stdout=writer,
            stderr=subprocess.PIPE,
            cwd=ROOT,
            check=False,
        )
    finally:
        os.close(writer)
    assert done.stderr == b""
    assert done.returncode == 1


def test_output_that_the_encoding_lacks_is_escaped():
    done = tokenmill("generate", "--package", "中", "x", env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert done.returncode == 4
    assert "Traceback" not in done.stderr
    probe = "import click, cli.main as m; m.cli = lambda **_: print('中é'); m.main()"
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(
        [sys.executable, "-c", probe], cwd=ROOT, env=environment, capture_output=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, b"\\u4e2d\\xe9\n")


def test_the_exit_code_that_a_command_asks_for_is_the_process_s():
    probe = (
        "import cli.doctor_command as d, cli.main as m, sys\n"
        "d.check_packages = lambda: [d.Check('part', 'missing', False, 'Install it.')]\n"
        "sys.argv = ['tokenmill', 'doctor', '--json']\n"
        "m.main()\n"
    )
    done = subprocess.run([sys.executable, "-c", probe], cwd=ROOT, capture_output=True, check=False)
    assert done.returncode == 1
    assert json.loads(done.stdout)["ok"] is False
