from __future__ import annotations

import sys
from pathlib import Path

import pytest

from serving.benchmarks.decode_benchmark import DecodeBenchmark, random_prompts, rotated
from serving.benchmarks.decode_run import Contender
from tests.tiny import TINY
from tests.tiny_package import tiny_checkpoint, tiny_package  # noqa: F401

PYTHON = Path(sys.executable)


def test_each_round_begins_with_another_engine():
    names = ["a", "b", "c"]
    assert [rotated(names, number) for number in range(4)] == [names, ["b", "c", "a"], ["c", "a", "b"], names]
    assert rotated([], 1) == []


def test_prompts_of_a_smaller_batch_are_the_first_of_a_larger_one():
    assert random_prompts(100, 8, 5)[:2] == random_prompts(100, 2, 5)


@pytest.mark.parametrize("batch", [1, 3])
def test_turns_of_a_package_and_a_peer_that_is_not_there(batch: int, tiny_package: Path, tmp_path: Path):  # noqa: F811
    job = {"package": str(tiny_package), "threads": 1, "steps": 4, "checkpoint": "none", "cache": "none"}
    benchmark = DecodeBenchmark(
        vocab_size=TINY.vocab_size, prompt=5, tokens=11, rounds=2, threads=1, python=PYTHON, logs=tmp_path
    )
    benchmark.measure(
        batch,
        [
            Contender("ours", "tokenmill_engine", job, PYTHON),
            Contender("sampled", "tokenmill_engine", {**job, "sampling": {"temperature": 1.0}}, PYTHON),
            Contender("peer", "llama_cpp_engine", job, PYTHON),
        ],
    )
    assert benchmark.missing == {"peer": "No module named 'llama_cpp'"}
    assert [(run.round, run.engine) for run in benchmark.runs] == [
        (0, "ours"),
        (0, "sampled"),
        (1, "sampled"),
        (1, "ours"),
    ]
    ours = [run.ids for run in benchmark.runs if run.engine == "ours"]
    assert ours[0] == ours[1]
    assert [len(row) for row in ours[0]] == [11] * batch
    assert all(run.first_seconds > 0 and run.step_seconds > 0 for run in benchmark.runs)
