"""`tokenmill serve` when it cannot serve; a server that serves is in tests/e2e."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from cli.serve_command import command
from models.contract.manifest import MANIFEST_PATH

ROOT = Path(__file__).resolve().parents[2]


def serve(*words: str, **kwargs) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-m", "cli.main", "serve", *words]
    return subprocess.run(line, capture_output=True, text=True, cwd=ROOT, check=False, timeout=120, **kwargs)


@pytest.fixture
def broken_package(tmp_path: Path) -> Path:
    """Looks like a package until it is read."""
    manifest = tmp_path / "model" / "1" / MANIFEST_PATH
    manifest.parent.mkdir(parents=True)
    manifest.write_text("{}")
    return tmp_path / "model"


def assert_failed(done: subprocess.CompletedProcess[str], code: int, *parts: str) -> None:
    assert done.returncode == code, done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    for part in parts:
        assert part in done.stderr


def test_a_missing_package_is_named_with_exit_code_4():
    assert_failed(serve("no/such/package"), 4, "package no/such/package does not exist", "tokenmill export")


def test_a_folder_without_packages_is_named(tmp_path):
    assert_failed(serve(str(tmp_path)), 4, f"{tmp_path} holds no model package")


def test_several_packages_are_refused():
    assert_failed(serve("a", "b"), 2, "2 packages are named (a, b)", "one server per package")


def test_the_drain_ends_before_kubernetes_kills_and_the_example_is_the_demos_model():
    (drain,) = (option for option in command.params if option.name == "drain_seconds")
    assert drain.default == 25
    model = yaml.safe_load((ROOT / "tokenmill.yaml").read_text())["model"]["name"]
    assert f"tokenmill serve .tokenmill/models/{model}\n" in str(command.help)


def test_without_a_package_it_shows_its_usage():
    assert_failed(serve(), 2, "Missing argument 'PACKAGE'")


def test_a_port_in_use_is_told_before_the_package_is_loaded(broken_package):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert_failed(
            serve(str(broken_package), "--port", port), 2, f"cannot listen on 127.0.0.1:{port}", "--port"
        )


def test_a_package_that_cannot_be_loaded_ends_the_server_with_exit_code_4(broken_package):
    assert_failed(serve(str(broken_package), "--port", "0"), 4, "schema_version", "Export the package again")


def test_a_signal_while_it_loads_ends_it_at_once(broken_package):
    line = [sys.executable, "-m", "cli.main", "serve", str(broken_package), "--port", "0"]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(line, stderr=subprocess.PIPE, cwd=ROOT, env=environment) as process:
        for line in process.stderr:
            if json.loads(line)["message"] == "loading":
                break
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0
