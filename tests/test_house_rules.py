"""Rules of the house that no linter knows."""

from __future__ import annotations

import ast
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SOURCES = [
    path
    for path in map(
        ROOT.joinpath,
        subprocess.check_output(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, text=True).split(
            "\n"
        ),
    )
    if path.is_file() and path.suffix in (".py", ".md", ".toml", ".txt", ".yaml", ".json", ".sh", "")
]
PYTHON = [path for path in SOURCES if path.suffix == ".py"]


@pytest.mark.parametrize("path", PYTHON, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_file_has_at_most_400_lines(path: Path):
    assert len(path.read_text().splitlines()) <= 400


def test_no_file_names_a_registry_host_or_a_path_of_one_machine():
    hosts = "|".join(re.escape(host) for host in ("pypi" + ".org", "python" + "hosted.org", "npm" + "js.org"))
    folders = "|".join(("work", "root", "home"))
    pattern = re.compile(rf"{hosts}|(?<![\w.}}])/(?:{folders})/\w")
    found = [
        str(path.relative_to(ROOT)) for path in SOURCES if pattern.search(path.read_text(errors="replace"))
    ]
    assert found == []


def test_a_room_holds_one_public_class_per_file():
    crowded = {}
    for path in PYTHON:
        room = path.relative_to(ROOT).parts[0]
        if room not in ("serving", "components"):
            continue
        tree = ast.parse(path.read_text())
        public = [
            node.name
            for node in tree.body
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
        ]
        plain = [name for name in public if not _is_data(tree, name)]
        if len(plain) > 1:
            crowded[str(path.relative_to(ROOT))] = plain
    assert crowded == {}


def _is_data(tree: ast.Module, name: str) -> bool:
    """Whether a class only holds data (dataclass, enum, pydantic model, named tuple)."""
    node = next(n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == name)
    bases = {ast.unparse(base) for base in node.bases}
    decorated = any("dataclass" in ast.unparse(decorator) for decorator in node.decorator_list)
    return decorated or any(
        base.endswith(("BaseModel", "Enum", "NamedTuple", "TypedDict", "Spec", "Model", "Protocol"))
        for base in bases
    )


PRINTING = [path for path in PYTHON if path.relative_to(ROOT).parts[0] in ("cli", "pipeline")]
_ECHOED_AS_IT_IS = (
    "schema_command.py",
    "runs_command.py",
    "console.py",
    "run_command.py",
    "generate_command.py",
)
"""They echo a file's content, a model's words or a blank line, and nothing else of outside."""


@pytest.mark.parametrize("path", PRINTING, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_text_goes_through_markup(path: Path):
    """Only pipeline/terminal.py makes consoles and styled text: it shows what comes from outside as it is."""
    if path.name == "terminal.py":
        return
    found = []
    for node in ast.walk(ast.parse(path.read_text())):
        if not isinstance(node, ast.Call):
            continue
        called = ast.unparse(node.func)
        bare = called in ("Text", "Console", "print", "Progress", "Table") or called.endswith("from_markup")
        echo = called in ("click.echo", "click.secho") and path.name not in _ECHOED_AS_IT_IS
        if (bare and (str(path.relative_to(ROOT)), called) not in _SAFE_CALLS) or echo:
            found.append(f"{node.lineno}: {called}")
    assert found == []


_SAFE_CALLS = {
    ("cli/console.py", "Progress"),
    ("pipeline/data_table.py", "Table"),
    ("pipeline/data_table.py", "Text"),
}
