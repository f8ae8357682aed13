from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.contract.errors import ConfigError
from preprocessing.glob_filter import GlobFilter


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("*.py", "a.py", True),
        ("*.py", "b/a.py", False),
        ("**/*.py", "a.py", True),
        ("**/*.py", "b/c/a.py", True),
        ("**/*.py", "b/c/a.pyc", False),
        ("test/**", "test/a.py", True),
        ("test/**", "test/deep/a.py", True),
        ("test/**", "tests/a.py", False),
        ("test/**", "b/test/a.py", False),
        ("**/test/**", "b/test/a.py", True),
        ("**/test/**", "test/a.py", True),
        ("a/**/b/*.txt", "a/b/x.txt", True),
        ("a/**/b/*.txt", "a/1/2/b/x.txt", True),
        ("a/**/b/*.txt", "a/1/2/x.txt", False),
        ("[ab]?.txt", "b1.txt", True),
        ("[!ab]*.txt", "b1.txt", False),
        ("./a/*.txt", "a/x.txt", True),
        ("A.py", "a.py", False),
        ("**/**/a.py", "a.py", True),
        ("a/**/**/b", "a/b", True),
        ("a/**/**/b", "a/b/c", False),
        ("**", "a/b", True),
        ("[[]a[]].txt", "[a].txt", True),
        ("[{]a[}].txt", "{a}.txt", True),
    ],
)
def test_a_pattern_matches_whole_paths(pattern, path, expected):
    assert GlobFilter([pattern])(path) is expected


def test_exclude_wins_over_include():
    matches = GlobFilter(["**/*.py"], ["test/**"])
    assert matches("a/b.py")
    assert not matches("test/b.py")


def test_a_folder_is_pruned_only_if_all_below_it_is_excluded():
    matches = GlobFilter(["**/*"], ["test/**", "**/.*/**", "docs/*.md"])
    assert matches.prunes("test")
    assert matches.prunes("a/.git")
    assert not matches.prunes("docs")
    assert not matches.prunes("a")


@given(
    st.lists(st.sampled_from(["**", "a", "b", "*"]), min_size=1, max_size=6),
    st.text("ab", min_size=1, max_size=6),
)
def test_the_matches_are_those_of_the_definition(pattern, letters):
    def defined(parts, globs):
        if not globs:
            return not parts
        if globs[0] == "**":
            return any(defined(parts[skip:], globs[1:]) for skip in range(len(parts) + 1))
        return bool(parts) and globs[0] in ("*", parts[0]) and defined(parts[1:], globs[1:])

    assert GlobFilter(["/".join(pattern)])("/".join(letters)) is defined(list(letters), pattern)


def test_many_double_stars_ask_for_few_comparisons(monkeypatch):
    compared = []
    monkeypatch.setattr("preprocessing.glob_filter.fnmatchcase", lambda *words: bool(compared.append(words)))
    assert not GlobFilter(["**/x/" * 8 + "*.py"])("a/" * 40 + "b.txt")
    assert not GlobFilter(["**/*/" * 8 + "*.py"])("a/" * 40 + "b.txt")
    assert len(compared) <= 2 * 41 * 17


def test_a_deep_path_against_stars_in_every_part_is_matched():
    assert not GlobFilter(["**/*/" * 8 + "*.py"])("a/" * 400 + "b.txt")
    assert GlobFilter(["**/*/" * 8 + "*.py"])("a/" * 400 + "b.py")


@pytest.mark.parametrize(
    ("pattern", "fault"),
    [
        ("src/[ab.py", "without its"),
        ("[]a.py", "without its"),
        ("*.{py,txt}", "braces"),
        ("docs/", r"docs/\*\*"),
        ("**.py", "stands alone"),
        ("", "is empty"),
        (".", "is empty"),
    ],
)
def test_a_malformed_pattern_is_refused_by_name(pattern, fault):
    for arguments in (([pattern], []), (["*"], [pattern])):
        with pytest.raises(ConfigError, match=fault) as caught:
            GlobFilter(*arguments)
        assert repr(pattern) in str(caught.value)
