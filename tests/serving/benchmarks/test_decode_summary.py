from __future__ import annotations

import pytest

from serving.benchmarks.decode_run import DecodeRun
from serving.benchmarks.decode_summary import COMPARED_TOKENS, as_json, summarize


def run(engine: str, number: int, step: float, ids: list[list[int]], first: float = 0.1) -> DecodeRun:
    return DecodeRun(len(ids), number, engine, first, step, 50e9, ids)


def test_ratios_are_of_rounds_and_speed_counts_all_rows():
    ids = [[1, 2], [3, 4]]
    runs = [run("ours", 0, 0.01, ids), run("peer", 0, 0.02, ids, first=0.3), run("ours", 1, 0.02, ids)]
    runs.append(run("peer", 1, 0.05, ids, first=0.2))
    ours, peer = summarize(runs, {2: "ours"}, {"ours": 400_000_000})
    assert ours.step_ms == pytest.approx(15)
    assert ours.tokens_per_second == pytest.approx(2 / 0.015)
    assert ours.of_limit == pytest.approx((0.8 + 0.4) / 2)
    assert peer.of_limit is None
    assert peer.step_ratio is not None
    assert (peer.step_ratio.median, peer.step_ratio.low) == (pytest.approx(2.25), pytest.approx(2.0))
    assert peer.first_ratio is not None
    assert peer.first_ratio.median == pytest.approx(2.5)


def test_equal_tokens_are_counted_over_all_rows_and_the_first_difference_is_named():
    same = list(range(40))
    other = [*same[:5], 99, *same[6:]]
    ours, peer = summarize(
        [run("ours", 0, 1, [same, same]), run("peer", 0, 1, [same, other])], {2: "ours"}, {}
    )
    assert (ours.equal_tokens, ours.first_difference) == (2 * COMPARED_TOKENS, None)
    assert (peer.equal_tokens, peer.compared_tokens, peer.first_difference) == (63, 64, 5)


def test_a_difference_behind_the_compared_tokens_is_none():
    same = list(range(40))
    _, peer = summarize([run("ours", 0, 1, [same]), run("peer", 0, 1, [[*same[:-1], 7]])], {1: "ours"}, {})
    assert peer.first_difference is None


def test_without_the_reference_there_is_nothing_to_compare_with():
    (peer,) = summarize([run("peer", 0, 1, [[1, 2]])], {1: "ours"}, {})
    assert (peer.step_ratio, peer.compared_tokens) == (None, 0)
    assert as_json([peer])[0]["engine"] == "peer"
