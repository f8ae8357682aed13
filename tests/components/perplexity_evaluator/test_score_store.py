from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest

from components.perplexity_evaluator.eval_window import EvalWindow
from components.perplexity_evaluator.score_store import ScoreStore
from components.perplexity_evaluator.window_scores import WindowScores

WINDOWS = [EvalWindow((1, 2, 3), 1, 4, "d", "s", "c"), EvalWindow((1, 2), 1, 4, "e", "s", "c")]
SCORES = WindowScores(np.array([1.5, 2.5]), np.array([2, 1]))


def _archive(**arrays: np.ndarray) -> bytes:
    content = io.BytesIO()
    np.savez(content, **arrays)
    return content.getvalue()


def test_what_was_stored_is_found_for_the_same_model_and_windows_only(tmp_path: Path):
    store = ScoreStore(tmp_path / "new")
    assert store.get("m", WINDOWS) is None
    store.put("m", WINDOWS, SCORES)
    found = store.get("m", WINDOWS)
    assert found is not None
    assert found.nll_sum.tolist() == [1.5, 2.5]
    assert store.get("other", WINDOWS) is None
    assert store.get("m", WINDOWS[::-1]) is None
    assert [path.suffix for path in (tmp_path / "new").iterdir()] == [".npz"]


def test_a_file_torn_anywhere_is_as_good_as_none_and_is_replaced(tmp_path: Path):
    store = ScoreStore(tmp_path)
    store.put("m", WINDOWS, SCORES)
    (file,) = tmp_path.iterdir()
    whole = file.read_bytes()
    for length in (*range(0, len(whole), 7), len(whole) - 1):
        file.write_bytes(whole[:length])
        assert store.get("m", WINDOWS) is None, length
    store.put("m", WINDOWS, SCORES)
    assert store.get("m", WINDOWS) is not None


@pytest.mark.parametrize(
    "content",
    [
        b"no archive at all",
        b"PK\x03\x04 and no more",
        _archive(nll_sum=np.ones(2)),
        _archive(nll_sum=np.ones(3), scored=np.array([2, 1])),
        _archive(nll_sum=np.ones(2), scored=np.array([2, 2])),
        _archive(nll_sum=np.array([{}, {}]), scored=np.array([2, 1])),
    ],
)
def test_other_contents_are_as_good_as_none(tmp_path: Path, content: bytes):
    store = ScoreStore(tmp_path)
    store.put("m", WINDOWS, SCORES)
    (file,) = tmp_path.iterdir()
    file.write_bytes(content)
    assert store.get("m", WINDOWS) is None


def test_without_a_folder_nothing_is_kept():
    store = ScoreStore(None)
    store.put("m", WINDOWS, SCORES)
    assert store.get("m", WINDOWS) is None
