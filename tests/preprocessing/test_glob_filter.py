from __future__ import annotations

import pytest

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
