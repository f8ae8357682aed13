"""The system programs of the tests: found, installed through apt, or named."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "system_packages.py"


@pytest.fixture
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("system_packages", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_a_program_is_found_by_name_and_by_glob(script: ModuleType, tmp_path: Path):
    (tmp_path / "usr/lib/server/15/bin").mkdir(parents=True)
    (tmp_path / "usr/lib/server/15/bin/initdb").touch()
    assert script.Program("shell", ("sh",), "").is_there()
    assert script.Program("server", ("/usr/lib/server/*/bin/initdb",), "").is_there(tmp_path)
    assert not script.Program("server", ("/usr/lib/server/*/bin/other", "no-such"), "").is_there(tmp_path)


def test_what_is_missing_is_asked_of_apt_once(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    apt = tmp_path / "apt-get"
    apt.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/calls\n')
    apt.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setattr(script.os, "geteuid", lambda: 0)
    lacking = script.Program("imaginary", ("no-such-program",), "the imaginary tests")
    monkeypatch.setattr(script, "missing", lambda: [lacking])
    assert script.main() == 0
    calls = (tmp_path / "calls").read_text().splitlines()
    assert [call.split()[0] for call in calls] == ["update", "install"]
    assert calls[1].endswith("imaginary")
    assert "without imaginary, left out: the imaginary tests" in capsys.readouterr().err


def test_without_root_nothing_is_installed(
    script: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    def refuse(packages: list[str]) -> bool:
        raise AssertionError(packages)

    lacking = script.Program("imaginary", ("no-such-program",), "the imaginary tests")
    monkeypatch.setattr(script, "missing", lambda: [lacking])
    monkeypatch.setattr(script.os, "geteuid", lambda: 1000)
    monkeypatch.setattr(script, "install", refuse)
    assert script.main() == 0
    assert "the imaginary tests" in capsys.readouterr().err


def test_apt_that_fails_is_told_and_survived(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    apt = tmp_path / "apt-get"
    apt.write_text("#!/bin/sh\necho 'E: no network' >&2\nexit 100\n")
    apt.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert script.install(["imaginary"]) is False
    assert "E: no network" in capsys.readouterr().err


def test_the_script_runs_by_itself():
    done = subprocess.run([sys.executable, "-c", f"import runpy; runpy.run_path({str(SCRIPT)!r})"])
    assert done.returncode == 0
