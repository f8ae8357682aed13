from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SPEC = importlib.util.spec_from_file_location("bootstrap", ROOT / "scripts/bootstrap.py")
bootstrap = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(bootstrap)


def test_the_interpreter_of_the_environment_has_a_new_enough_c_library():
    assert bootstrap.glibc_of(Path(sys.executable)) >= bootstrap.NEEDED_GLIBC


def test_child_processes_keep_the_c_library():
    code = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import ml_metadata'], check=True)"
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


def test_without_python_311_the_message_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(bootstrap.subprocess, "run", _raise_missing)
    with pytest.raises(bootstrap.BootstrapError, match="uv python install"):
        bootstrap.find_python()


def _raise_missing(*_args, **_kwargs):
    raise FileNotFoundError


def test_without_apt_the_message_names_the_container(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setattr(bootstrap.shutil, "which", lambda _name: None)
    with pytest.raises(bootstrap.BootstrapError, match=r"apt is not there.*container"):
        bootstrap.fetch_newer_runtime(tmp_path / "glibc")
    assert not (tmp_path / "glibc").exists()


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ("Types: deb\nSigned-By: /keys/a.gpg\n", "deb [signed-by=/keys/a.gpg] mirror/ trixie main\n"),
        ("deb [signed-by=/keys/a.gpg] mirror/ x main\n", "deb [signed-by=/keys/a.gpg] mirror/ trixie main\n"),
        ("deb mirror/ x main\n", "deb mirror/ trixie main\n"),
    ],
)
def test_the_newer_release_comes_from_the_systems_own_mirror(
    monkeypatch, tmp_path: Path, entry: str, expected: str
):
    source = tmp_path / "system.sources"
    source.write_text(entry)
    listing = f"security-mirror/|main|Packages|Debian|{source}:1\nmirror/|main|Packages|Debian|{source}:1\n"
    monkeypatch.setattr(bootstrap, "run", lambda *_words: subprocess.CompletedProcess([], 0, stdout=listing))
    assert bootstrap.apt_source("debian", "trixie") == expected


def test_a_failed_command_shows_the_end_of_what_it_printed():
    with pytest.raises(bootstrap.BootstrapError, match=r"exited with 3:\n.*what went wrong"):
        bootstrap.run(sys.executable, "-c", "print('what went wrong'); raise SystemExit(3)")


def test_the_stamp_follows_extras_and_pins(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    assert bootstrap.fingerprint(["dev"]) != bootstrap.fingerprint(["dev", "parity"])
    for name in bootstrap.STAMPED_FILES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    before = bootstrap.fingerprint(["dev"])
    monkeypatch.setattr(bootstrap, "ROOT", tmp_path)
    assert bootstrap.fingerprint(["dev"]) == before
    (tmp_path / "constraints.txt").write_text("changed\n")
    assert bootstrap.fingerprint(["dev"]) != before


def test_the_pins_name_no_host_and_cover_every_dependency():
    pins = (ROOT / "constraints.txt").read_text()
    assert "://" not in pins
    assert all("==" in line for line in pins.splitlines() if line and not line.startswith("#"))
