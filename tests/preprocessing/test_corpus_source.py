from __future__ import annotations

import json
import re
import sysconfig
from pathlib import Path

import pytest
from pydantic import ValidationError

from preprocessing.corpus_source import CorpusSource


def test_the_standard_library_is_that_of_the_running_interpreter():
    source = CorpusSource(name="python", path="{stdlib}/json")
    assert source.root == Path(sysconfig.get_path("stdlib")) / "json"
    assert source.root == Path(json.__file__).parent


def test_home_is_expanded_and_relative_paths_become_absolute():
    assert CorpusSource(name="a", path="~/x").root == Path.home() / "x"
    assert CorpusSource(name="a", path="x").root == Path.cwd() / "x"


@pytest.mark.parametrize("glob", ["", "/etc/*", "../*", "~/x"])
def test_a_glob_that_leaves_the_folder_is_refused(glob):
    with pytest.raises(ValidationError, match="relative to the source's folder"):
        CorpusSource(name="a", path="x", include=[glob])


@pytest.mark.parametrize("glob", ["[a", "*.{a,b}", "docs/", "**.py"])
def test_a_malformed_glob_is_refused_with_the_configuration(glob):
    for key in ("include", "exclude"):
        with pytest.raises(ValidationError, match=re.escape(repr(glob))):
            CorpusSource(name="a", path="x", **{key: [glob]})


def test_unknown_keys_and_odd_names_are_refused():
    with pytest.raises(ValidationError):
        CorpusSource(name="a", path="x", includes=["*"])
    with pytest.raises(ValidationError):
        CorpusSource(name="a b", path="x")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"path": "a/{VERSION}"}, r"path 'a/\{VERSION\}' has \{VERSION\} without \{SPAN\}"),
        ({"delimiter": '"'}, "cannot separate columns"),
        ({"delimiter": ";;"}, "at most 1 character"),
        ({"weight": 0}, "greater than 0"),
        ({"weight": float("inf")}, "finite"),
        ({"format": "xml"}, "'auto', 'text', 'jsonl'"),
        ({"text_field": ""}, "at least 1 character"),
    ],
)
def test_odd_settings_are_refused(changes, message):
    with pytest.raises(ValidationError, match=message):
        CorpusSource(**{"name": "a", "path": "x", **changes})
