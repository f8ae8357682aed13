"""push, canary, promote, rollback and releases as a script uses them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from cli.main import cli
from models.contract.errors import ConfigError, NotBlessedError
from models.contract.package import versions
from tests.components.packages import bare_package

CONFIG = """
model: {name: tiny, checkpoint: nowhere}
corpus: {sources: [{name: code, path: corpus}]}
push: {directory: pushed, keep: 1}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current directory, with a configuration and three packages."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tokenmill.yaml").write_text(CONFIG)
    for number in range(3):
        bare_package(tmp_path / f"made{number}", weights=str(number), evaluation={"blessed": True})
    bare_package(tmp_path / "unblessed", weights="u")
    return tmp_path


def invoke(*words: str) -> Any:
    done = CliRunner().invoke(cli, [*words, "--json"], catch_exceptions=False, standalone_mode=False)
    return json.loads(done.stdout)


def say(*words: str) -> str:
    return CliRunner().invoke(cli, list(words), catch_exceptions=False, standalone_mode=False).output


def test_push_canary_promote_and_rollback_print_one_json_value(folder: Path):
    first = invoke("push", "made0", "--keep", "9")
    assert (first["new"], first["blessed"], first["label"], first["removed"]) == (True, True, "stable", [])
    assert first["path"] == str(Path("pushed") / "tiny" / str(first["version"]))
    second = invoke("push", "made1", "--keep", "9")["version"]
    canary = invoke("canary", "tiny", "--weight", "0.25", "--reason", "try")
    assert canary["labels"] == {"stable": first["version"], "canary": second}
    assert (canary["canary_weight"], canary["release"]["reason"]) == (0.25, "try")
    promoted = invoke("promote")
    assert (promoted["labels"], promoted["rollback_targets"]) == ({"stable": second}, [first["version"]])
    back = invoke("rollback", "tiny")
    assert (back["labels"], back["release"]["action"]) == ({"stable": first["version"]}, "rollback")
    status = invoke("releases", "tiny")
    assert [release["action"] for release in status["releases"]] == [
        "push",
        "push",
        "canary",
        "promote",
        "rollback",
    ]


def test_the_tables_tell_people(folder: Path):
    say("push", "made0")
    assert "label: stable" in say("push", "made0")
    say("push", "made1", "--keep", "5")
    version = versions(folder / "pushed" / "tiny")[-1]
    assert f"canary – → {version} with 0.1 of the traffic" in say("canary", "--reason", "a test")
    shown = say("releases")
    for word in ("stable", "canary", "90%", "10%", "a test", str(version)):
        assert word in shown


def test_the_configuration_s_retention_applies(folder: Path):
    for number in range(3):
        removed = invoke("push", f"made{number}")["removed"]
    assert len(removed) == 1
    assert len(versions(folder / "pushed" / "tiny")) == 2


def test_an_unblessed_package_needs_the_flag_and_the_output_says_so(folder: Path):
    with pytest.raises(NotBlessedError, match="--allow-unblessed"):
        say("push", "unblessed")
    assert not (folder / "pushed").exists()
    told = say("push", "unblessed", "--allow-unblessed")
    assert "blessed by no evaluation" in told
    assert "no label" in told


def test_the_place_is_the_directory_s_else_the_configuration_s(folder: Path):
    invoke("push", "made0", "--directory", "other", "--model", "mine")
    invoke("push", "made1", "--directory", "other", "--model", "mine")
    assert invoke("canary", "--directory", "other")["model"] == "mine"
    (folder / "other" / "second").mkdir()
    with pytest.raises(ConfigError, match="holds 2 models: mine, second"):
        say("promote", "--directory", "other")
    (folder / "tokenmill.yaml").rename(folder / "named.yaml")
    with pytest.raises(ConfigError, match="holds 0 models"):
        say("releases")
    invoke("push", "made2", "--config", "named.yaml")
    assert invoke("releases", "--config", "named.yaml")["directory"] == "pushed/tiny"


def test_a_weight_out_of_range_exits_with_2_and_changes_nothing(folder: Path):
    invoke("push", "made0", "--keep", "9")
    invoke("push", "made1", "--keep", "9")
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run(
        [sys.executable, "-m", "cli.main", "canary", "tiny", "--weight", "1.5"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(root)},
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert "between 0 and 1" in done.stderr
    assert "Traceback" not in done.stderr
    assert "canary" not in invoke("releases")["labels"]


def test_an_empty_model_is_not_the_only_one(folder: Path):
    invoke("push", "made0", "--keep", "9")
    invoke("push", "made1", "--keep", "9")
    for words in (("canary", ""), ("promote", ""), ("rollback", ""), ("releases", "")):
        with pytest.raises(ConfigError, match="model name '' is no name of a folder"):
            say(*words)
    with pytest.raises(ConfigError, match="model name ''"):
        say("push", "made2", "--model", "")


def test_a_reason_is_shown_as_it_was_given(folder: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("LOGNAME", "[bold]eve[/nope]")
    invoke("push", "made0", "--keep", "9")
    invoke("push", "made1", "--keep", "9")
    told = say("canary", "--reason", "[red]x[/nope] \x1b[2J")
    shown = say("releases")
    for text in (told, shown):
        assert r"[red]x[/nope] \x1b[2J" in text
        assert "\x1b" not in text
    assert "[bold]eve[/nope]" in shown


def test_a_push_says_whose_word_the_blessing_is(folder: Path):
    assert "its own manifest's word only" in say("push", "made0")
    assert invoke("push", "made1", "--keep", "9")["blessing"] == "the package's own manifest"
    assert invoke("push", "unblessed", "--allow-unblessed")["blessing"] is None
