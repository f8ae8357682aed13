"""The distribution as others install it."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest
import tokenmill_client

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "client" / "src" / "tokenmill_client"


def test_every_exported_name_exists_and_is_all_there_is():
    assert tokenmill_client.__all__ == sorted(tokenmill_client.__all__)
    for name in tokenmill_client.__all__:
        assert getattr(tokenmill_client, name).__module__.startswith("tokenmill_client.")
    errors = {
        name
        for name, value in vars(tokenmill_client.errors).items()
        if isinstance(value, type) and issubclass(value, Exception)
    }
    assert errors <= set(tokenmill_client.__all__)


def test_it_imports_httpx_and_the_standard_library_only():
    allowed = {*sys.stdlib_module_names, "httpx", "tokenmill_client"}
    for path in SOURCE.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            else:
                names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            for name in names:
                assert name.partition(".")[0] in allowed, f"{path.name} imports {name}"


def test_the_readme_names_every_option_and_exception():
    readme = (ROOT / "client" / "README.md").read_text()
    for name in (
        *tokenmill_client.CompletionOptions.__annotations__,
        *tokenmill_client.Timeouts.__annotations__,
    ):
        assert f"`{name}`" in readme
    for name in tokenmill_client.__all__:
        if name.endswith("Error"):
            assert name in readme or name == "ResponseError", name


@pytest.mark.slow
def test_it_installs_into_a_fresh_environment_without_tensorflow(tmp_path: Path):
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
    python = tmp_path / "venv" / "bin" / "python"
    subprocess.run(
        [python, "-m", "pip", "install", "--quiet", str(ROOT / "client")], check=True, cwd=tmp_path
    )
    probe = (
        "import importlib.metadata as m, tokenmill_client as t\n"
        "t.Client('http://127.0.0.1:9').close()\n"
        "names = {d.name.lower() for d in m.distributions()}\n"
        "assert 'httpx' in names and not names & {'tensorflow', 'keras', 'tfx', 'numpy'}, names\n"
        "print(len(names))"
    )
    done = subprocess.run([python, "-c", probe], check=True, cwd=tmp_path, capture_output=True, text=True)
    assert int(done.stdout) < 15
