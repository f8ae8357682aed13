from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.contract.errors import DataError
from preprocessing.leakage import Leak, Leakage, LeakageResult
from preprocessing.leakage_config import LeakageConfig
from preprocessing.shingles import shingles


def text(seed: int, words: int = 200) -> str:
    draw = random.Random(seed)
    return " ".join(f"word{draw.randrange(5000)}" for _ in range(words))


def find(held_out: dict[str, str], train: dict[str, str], **config) -> LeakageResult:
    search = Leakage(LeakageConfig(**config))
    for key, value in held_out.items():
        search.add_held_out(key, value)
    for key, value in train.items():
        search.add_train(key, value)
    return search.result()


def test_copies_and_documents_that_contain_a_held_out_one_leak_it():
    train = {
        "copy": text(1).upper(),
        "container": f"{text(7)}\n{text(2)}\n{text(8)}",
        "half": text(1)[: len(text(1)) // 2],
        "other": text(9),
    }
    found = find({"one": text(1), "two": text(2)}, train)
    assert found.leaks == (Leak("copy", "one", 1.0), Leak("container", "two", 1.0))
    assert found.dropped == {"copy", "container"}


texts = st.lists(st.sampled_from("abcdef"), min_size=1, max_size=40).map(" ".join)


@given(st.lists(texts, min_size=1, max_size=5), texts, st.sampled_from([0.3, 0.8, 1.0]))
def test_the_share_is_that_of_the_held_out_documents_distinct_shingles(held_out, train, threshold):
    parts = [set(shingles(one, 3).tolist()) for one in held_out]
    there = set(shingles(train, 3).tolist())
    best = max(len(part & there) / len(part) for part in parts)
    found = find(
        {str(i): one for i, one in enumerate(held_out)}, {"t": train}, threshold=threshold, shingle=3
    )
    assert [leak.share for leak in found.leaks] == ([round(best, 4)] if best >= threshold else [])


def test_a_long_document_is_sampled_and_its_share_nearly_right():
    long = text(3, 20_000)
    found = find({"long": long}, {"t": long[: int(len(long) * 0.9)]}, threshold=0.5)
    assert found.leaks[0].share == pytest.approx(0.9, abs=0.07)
    assert not find({"long": long}, {"t": long[: len(long) // 2]}).leaks


def test_fail_names_the_documents_and_report_and_off_keep_them():
    held_out, train = {"held": text(1)}, {f"t{i}": text(1) for i in range(7)}
    with pytest.raises(DataError, match=r"7 training documents[\s\S]*t0 holds 100% of held[\s\S]*2 more"):
        find(held_out, train, action="fail")
    assert find(held_out, {"t": text(2)}, action="fail") == LeakageResult()
    reported = find(held_out, train, action="report")
    assert (len(reported.leaks), reported.dropped) == (7, frozenset())
    assert find(held_out, train, action="off") == LeakageResult()


def test_texts_without_words_and_empty_splits():
    assert find({"a": ""}, {"b": "", "c": "x"}) == LeakageResult()
    assert find({"a": "x y"}, {"b": "...", "c": "X, Y"}).dropped == {"c"}


def test_held_out_documents_come_first():
    search = Leakage(LeakageConfig())
    search.add_held_out("a", text(1))
    search.add_train("b", text(1))
    with pytest.raises(ValueError, match="before training documents"):
        search.add_held_out("c", text(2))
