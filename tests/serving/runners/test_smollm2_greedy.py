"""The real model through the package's paged signatures, against an independent reference."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from models.contract.signatures import NO_ID
from serving.runners.local_runner import LocalRunner

pytestmark = pytest.mark.smollm2

CASES = json.loads(
    (Path(__file__).parents[2] / "data" / "cases" / "smollm2_greedy.json").read_text(encoding="utf-8")
)
CONTROL = {"<|im_start|>": 1, "<|im_end|>": 2}
SHORTEST = min(CASES, key=lambda case: len(case["prompt_ids"]) + len(case["new_ids"]))


@pytest.fixture(scope="module")
def runner(smollm2_package: Path):
    with LocalRunner(smollm2_package) as runner:
        yield runner


def sampling(rows: int) -> dict[str, np.ndarray]:
    return {
        "temperature": np.zeros(rows, np.float32),
        "top_k": np.zeros(rows, np.int32),
        "top_p": np.ones(rows, np.float32),
        "min_p": np.zeros(rows, np.float32),
        "seed": np.zeros(rows, np.int64),
    }


def stream(
    runner: LocalRunner, cases: list[dict[str, Any]], steps: int
) -> list[tuple[list[int], list[float]]]:
    """Greedy ids and logprobs of the cases in one batch, `steps` per decode call."""
    size = runner.manifest.block_size
    lengths = np.array([len(case["prompt_ids"]) for case in cases])
    count = max(len(case["new_ids"]) for case in cases)
    columns = -(-(lengths.max() + count + steps) // size)
    table = (1 + np.arange(len(cases) * columns)).reshape(len(cases), columns).astype(np.int32)
    ids = np.zeros([len(cases), lengths.max()], np.int32)
    for row, case in enumerate(cases):
        ids[row, : lengths[row]] = case["prompt_ids"]
    rows = sampling(len(cases))
    start = np.zeros(len(cases), np.int32)
    first = runner.call("prefill", ids=ids, lengths=lengths, start=start, block_table=table, **rows)
    made, logprobs = [first["next_id"][:, None]], [first["logprob"][:, None]]
    while sum(part.shape[1] for part in made) < count:
        result = runner.call(
            "decode",
            last_id=made[-1][:, -1],
            length=lengths + sum(part.shape[1] for part in made) - 1,
            block_table=table,
            stop_ids=np.full([len(cases), 1], NO_ID, np.int32),
            steps=np.int32(steps),
            **rows,
        )
        made.append(result["ids"])
        logprobs.append(result["logprobs"])
    joined = zip(np.concatenate(made, 1).tolist(), np.concatenate(logprobs, 1).tolist(), strict=True)
    return [
        (row[: len(case["new_ids"])], scores[: len(case["new_ids"])])
        for case, (row, scores) in zip(cases, joined, strict=True)
    ]


def known(cases: list[dict[str, Any]]) -> list[tuple[list[int], Any]]:
    """Ids and log probabilities, these within 2e-3."""
    return [(case["new_ids"], pytest.approx(case["logprobs"], abs=2e-3)) for case in cases]


def segments(prompt: str) -> list[str | int]:
    """A rendered chat prompt as the server gets it: control tokens as ids, everything else as text."""
    pieces = re.split(r"(<\|im_start\|>|<\|im_end\|>)", prompt)
    return [CONTROL.get(piece, piece) for piece in pieces if piece]


def test_the_shortest_case_token_by_token(runner: LocalRunner):
    assert stream(runner, [SHORTEST], 1) == known([SHORTEST])


@pytest.mark.cases
@pytest.mark.parametrize("steps", [1, 4])
def test_all_cases_in_one_batch(runner: LocalRunner, steps: int):
    assert stream(runner, CASES, steps) == known(CASES)


@pytest.mark.cases
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["prompt"][:20])
def test_each_case_by_itself_and_its_prompt_text(runner: LocalRunner, case: dict[str, Any]):
    assert runner.tokenize_segments([segments(case["prompt"])]) == [case["prompt_ids"]]
    assert stream(runner, [case], 4) == known([case])
