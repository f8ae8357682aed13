from __future__ import annotations

import itertools
import random

import pytest
from pydantic import ValidationError

from preprocessing.near_duplicate_config import NearDuplicateConfig
from preprocessing.near_duplicates import NearDuplicateResult, NearDuplicates
from preprocessing.shingles import shingles


def text(seed: int, words: int = 400) -> list[str]:
    draw = random.Random(seed)
    return [f"word{draw.randrange(5000)}" for _ in range(words)]


def changed(words: list[str], places: list[int]) -> list[str]:
    return [f"other{i}" if i in set(places) else word for i, word in enumerate(words)]


def find(documents: list[tuple[str, list[str]]], **config) -> NearDuplicateResult:
    search = NearDuplicates(NearDuplicateConfig(**config))
    for key, words in documents:
        search.add(key, " ".join(words))
    return search.result()


def similarity(one: list[str], other: list[str], size: int = 7) -> float:
    a, b = (set(shingles(" ".join(words), size).tolist()) for words in (one, other))
    return len(a & b) / len(a | b)


def test_copies_with_small_changes_go_and_the_first_stays():
    documents = [("a", text(1)), ("b", text(2)), ("a2", changed(text(1), [40])), ("b2", [*text(2), "end"])]
    found = find([*documents, ("c", text(3))])
    assert found.duplicates == {"a2": "a", "b2": "b"}
    assert found.dropped == {"a2", "b2"}
    assert (found.documents, found.clusters) == (5, 2)


def test_what_differs_enough_stays():
    other = changed(text(1), list(range(0, 400, 20)))
    assert similarity(text(1), other) < 0.7
    assert find([("a", text(1)), ("b", other)]).duplicates == {}
    assert find([("a", text(1)), ("b", other)], threshold=0.4).duplicates == {"b": "a"}


def test_a_chain_is_one_cluster_named_by_its_first():
    steps = itertools.accumulate(range(6), lambda words, i: changed(words, [60 * i]), initial=text(5))
    documents = [(f"d{i}", words) for i, words in enumerate(steps)]
    found = find(documents, threshold=0.9)
    assert set(found.duplicates.values()) == {"d0"}
    assert found.clusters == 1


def test_most_pairs_above_the_threshold_are_found_and_few_below():
    """The estimate's error is a few points: pairs well above 0.9 are found, pairs well below are not."""
    above = below = 0
    for seed in range(40):
        near, far = changed(text(seed), [200]), changed(text(seed), list(range(0, 400, 40)))
        assert similarity(text(seed), near) > 0.96
        assert similarity(text(seed), far) < 0.82
        found = find([("a", text(seed)), ("near", near), ("far", far)])
        above += "near" in found.duplicates
        below += "far" in found.duplicates
    assert (above, below) == (40, 0)


def test_a_large_bucket_is_one_cluster():
    documents = [(str(i), changed(text(9), [i])) for i in range(90)]
    found = find(documents)
    assert len(found.duplicates) == 89
    assert set(found.duplicates.values()) == {"0"}


def test_short_and_empty_texts():
    documents = [("a", ["hi"]), ("b", []), ("c", ["Hi!"]), ("d", ["...", "“”"]), ("e", ["there"])]
    found = find(documents)
    assert found.duplicates == {"c": "a"}
    assert found.documents == 5
    assert find([]) == NearDuplicateResult()


def test_a_text_longer_than_a_chunk_is_hashed_as_a_whole():
    long = text(3, 10_000)
    assert find([("a", long), ("b", long[5000:] + long[:5000])]).duplicates == {"b": "a"}
    assert find([("a", long), ("b", long[:5000])]).duplicates == {}


def test_report_finds_and_keeps_and_off_does_nothing():
    documents = [("a", text(1)), ("b", text(1))]
    reported = find(documents, action="report")
    assert (reported.duplicates, reported.dropped) == ({"b": "a"}, frozenset())
    assert find(documents, action="off") == NearDuplicateResult()


def test_the_result_depends_on_texts_order_and_configuration_alone():
    documents = [(str(i), changed(text(i % 7), [i])) for i in range(30)]
    assert find(documents) == find(documents)
    assert find(documents, seed=2).duplicates == find(documents, seed=3).duplicates


def test_settings_out_of_range_are_refused():
    for wrong in (
        {"threshold": 0.1},
        {"threshold": 1.1},
        {"shingle": 0},
        {"permutations": 8},
        {"actoin": "off"},
    ):
        with pytest.raises(ValidationError):
            NearDuplicateConfig(**wrong)
