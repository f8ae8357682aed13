from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(str(SCRIPTS))
    spec = importlib.util.spec_from_file_location("make_peers_env", SCRIPTS / "make_peers_env.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_modules_are_looked_for_in_the_other_interpreter(script):
    assert script.has(Path(sys.executable), "numpy")
    assert not script.has(Path(sys.executable), "llama_cpp")


def test_only_the_common_packages_are_pinned(script, tmp_path: Path):
    names = [line.partition("==")[0] for line in script.pins(tmp_path).read_text().splitlines()]
    assert sorted(names) == sorted(script.COMMON)


def test_a_peer_that_cannot_be_installed_is_left_out(script, monkeypatch: pytest.MonkeyPatch, capsys):
    def run(*command: object) -> None:
        raise script.BootstrapError("no compiler")

    monkeypatch.setattr(script, "run", run)
    assert not script.install(Path("python"), "llama_cpp")
    assert "llama_cpp is left out: no compiler" in capsys.readouterr().err
