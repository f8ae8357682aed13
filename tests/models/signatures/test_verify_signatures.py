"""Verified drafts give what decoding alone gives."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.checkpoint import load_checkpoint
from models.decoder import Decoder
from tests.models.paged_driver import PagedDriver, sampling_rows

NEW = 12
SAMPLED = {"temperature": 1.2, "top_k": 30, "top_p": 0.95, "seed": np.arange(4) + 7}
GREEDY = {"temperature": 0.0}


@pytest.fixture(scope="module")
def decoder(tiny_checkpoint: Path) -> Decoder:
    return load_checkpoint(tiny_checkpoint)


@pytest.fixture(scope="module")
def driver(decoder: Decoder) -> PagedDriver:
    return PagedDriver(decoder)


@pytest.fixture(scope="module")
def prompts() -> list[list[int]]:
    random = np.random.default_rng(11)
    return [random.integers(3, 250, length).tolist() for length in (1, 4, 9, 14)]


@pytest.fixture(scope="module")
def wanted(driver: PagedDriver, prompts: list[list[int]]) -> dict[bool, list[list[int]]]:
    made = {}
    for sampled, params in ((True, SAMPLED), (False, GREEDY)):
        driver.recycle()
        made[sampled] = driver.stream(prompts, [1] * (NEW - 1), **params)
    return made


def started(driver: PagedDriver, prompts: list[list[int]], **params: object) -> tuple[np.ndarray, list]:
    driver.recycle()
    table = driver.table([len(prompt) + 2 * NEW for prompt in prompts])
    first = driver.prefill(prompts, [0] * len(prompts), table, **params)
    return table, [[int(value)] for value in first["next_id"]]


def verify(
    driver: PagedDriver,
    prompts: list[list[int]],
    made: list[list[int]],
    table: np.ndarray,
    drafts: list[list[int]],
    fill: int = -1,
    **params: object,
) -> dict[str, np.ndarray]:
    """One call; what it accepts and what follows is appended to `made`."""
    width = max(map(len, drafts))
    padded = np.full([len(drafts), width], fill, np.int32)
    for row, draft in enumerate(drafts):
        padded[row, : len(draft)] = draft
    result = driver.call(
        "verify",
        last_id=[row[-1] for row in made],
        length=[len(prompt) + len(row) - 1 for prompt, row in zip(prompts, made, strict=True)],
        draft_ids=padded,
        draft_lengths=[len(draft) for draft in drafts],
        block_table=table,
        **sampling_rows(len(made), **params),
    )
    for row, draft, accepted, after in zip(made, drafts, result["accepted"], result["next_id"], strict=True):
        row += [*draft[:accepted], int(after)]
    return result


@settings(max_examples=25, deadline=None)
@given(data=st.data(), sampled=st.booleans())
def test_any_drafts_give_the_ids_of_decoding_alone(
    driver: PagedDriver,
    prompts: list[list[int]],
    wanted: dict[bool, list[list[int]]],
    data: st.DataObject,
    sampled: bool,
):
    params = SAMPLED if sampled else GREEDY
    table, made = started(driver, prompts, **params)
    while min(map(len, made)) < NEW:
        drafts = []
        for row, ids in zip(made, wanted[sampled], strict=True):
            draft = ids[len(row) :][: data.draw(st.integers(0, 5))]
            if draft and data.draw(st.booleans()):
                draft[data.draw(st.integers(0, len(draft) - 1))] += 1
            drafts.append([value % 250 for value in draft])
        verify(driver, prompts, made, table, drafts, **params)
    for row, ids in zip(made, wanted[sampled], strict=True):
        assert row[:NEW] == ids


def test_right_drafts_are_all_accepted_and_the_first_wrong_one_ends_it(
    driver: PagedDriver, prompts: list[list[int]], wanted: dict[bool, list[list[int]]]
):
    table, made = started(driver, prompts)
    ids = wanted[False]
    wrong = ids[1][1:5]
    wrong[2] = (wrong[2] + 1) % 250
    result = verify(driver, prompts, made, table, [ids[0][1:6], wrong, [], ids[3][1:2]])
    assert result["accepted"].tolist() == [5, 2, 0, 1]
    assert result["next_id"].tolist() == [ids[0][6], ids[1][3], ids[2][1], ids[3][2]]


def test_rejected_drafts_leave_no_trace(
    driver: PagedDriver, prompts: list[list[int]], wanted: dict[bool, list[list[int]]]
):
    table, made = started(driver, prompts)
    wrong = [[(value + 1) % 250 for value in ids[1:6]] for ids in wanted[False]]
    assert not verify(driver, prompts, made, table, wrong)["accepted"].any()
    driver.extend(prompts, made, table, 4)
    driver.extend(prompts, made, table, 3)
    assert made == [ids[: len(row)] for ids, row in zip(wanted[False], made, strict=True)]


@pytest.mark.parametrize("params", [GREEDY, SAMPLED], ids=["greedy", "sampled"])
def test_without_drafts_it_is_one_step_of_decode(
    driver: PagedDriver, prompts: list[list[int]], params: dict[str, object]
):
    table, made = started(driver, prompts, **params)
    again = [list(row) for row in made]
    step = driver.extend(prompts, made, table, 1, **params)
    for width in (0, 3):
        result = driver.call(
            "verify",
            last_id=[row[-1] for row in again],
            length=[len(prompt) for prompt in prompts],
            draft_ids=np.full([4, width], -1),
            draft_lengths=[0] * 4,
            block_table=table,
            **sampling_rows(4, **params),
        )
        assert result["next_id"].tolist() == step["ids"][:, 0].tolist()
        assert not result["accepted"].any()
        assert result["logprobs"].shape == (4, width + 1)
        np.testing.assert_allclose(result["logprobs"][:, 0], step["logprobs"][:, 0], atol=1e-4)
        np.testing.assert_array_equal(result["top_ids"][:, 0], step["top_ids"][:, 0])
        assert result["nonce"] == step["nonce"]


def test_logprobs_are_those_of_decoding(
    driver: PagedDriver, prompts: list[list[int]], wanted: dict[bool, list[list[int]]]
):
    table, made = started(driver, prompts)
    steps = driver.extend(prompts, made, table, 5)
    table, made = started(driver, prompts)
    result = verify(driver, prompts, made, table, [ids[1:5] for ids in wanted[False]])
    assert result["accepted"].tolist() == [4] * 4
    np.testing.assert_allclose(result["logprobs"], steps["logprobs"], atol=1e-4)
    np.testing.assert_allclose(result["top_logprobs"], steps["top_logprobs"], atol=1e-4)


def test_neither_filling_nor_padded_rows_matter(
    driver: PagedDriver, prompts: list[list[int]], wanted: dict[bool, list[list[int]]]
):
    for fill in (-1, 0, 100_000):
        table, made = started(driver, prompts[:2])
        table = np.concatenate([table, np.zeros([1, table.shape[1]], np.int32)])
        made.append([0])
        drafts = [wanted[False][0][1:5], wanted[False][1][1:3], []]
        result = verify(driver, [*prompts[:2], []], made, table, drafts, fill=fill)
        assert result["accepted"][:2].tolist() == [4, 2]
        assert made[:2] == [wanted[False][0][:6], wanted[False][1][:4]]
