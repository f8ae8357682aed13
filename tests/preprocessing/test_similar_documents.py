from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np
import pytest

from models.contract.errors import DataError
from preprocessing.corpus_files import list_files
from preprocessing.corpus_inventory import inspect_file
from preprocessing.corpus_plan import EVAL, TRAIN, CorpusPlan, InspectedFile
from preprocessing.corpus_source import CorpusSource
from preprocessing.leakage_config import LeakageConfig
from preprocessing.near_duplicate_config import NearDuplicateConfig
from preprocessing.records.read_settings import ReadSettings
from preprocessing.similar_documents import drop_leaks, drop_near_duplicates
from tests.preprocessing.planning import names


def words(seed: int, count: int = 200) -> str:
    vocabulary = ("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta")
    return " ".join(random.Random(seed).choices(vocabulary, k=count))


def made(folder: Path, rows: list[tuple[str, str]]) -> tuple[CorpusPlan, ReadSettings]:
    """A plan over JSON Lines of texts and groups; `held…` groups go to the eval split."""
    path = folder / "a.jsonl"
    path.write_text("".join(json.dumps({"text": text, "group": group}) + "\n" for text, group in rows))
    source = CorpusSource(name="s", path=str(path), group_field="group")
    settings = ReadSettings(source, 2**20, 2**20)
    (file,) = list_files([source])
    *blocks, summary = inspect_file(file, settings, group_depth=1, seed=0)
    inspected = InspectedFile(file, summary, np.concatenate(blocks))
    plan = CorpusPlan.make([inspected], group_depth=1, eval_fraction=0.5)
    plan.codes[:] = [2 if group.startswith("held") else 1 for _, group in rows]
    return plan, settings


@pytest.fixture
def corpus(tmp_path: Path) -> tuple[CorpusPlan, ReadSettings]:
    held, other, third = words(1), words(2), words(3)
    return made(
        tmp_path,
        [
            (other, "a"),
            (f"{other} one more", "b"),
            (held, "held"),
            (f"{words(4)} {held} {words(5)}", "c"),
            (third, "d"),
            (words(6), "held2"),
        ],
    )


def test_of_near_duplicates_the_first_is_kept(corpus):
    plan, settings = corpus
    drop_near_duplicates(plan, NearDuplicateConfig(), lambda _: settings)
    assert plan.near_duplicates.tolist() == [[1, 0]]
    assert names(plan, TRAIN) == [f"s/a.jsonl#{row}" for row in (1, 4, 5)]
    assert names(plan, EVAL) == [f"s/a.jsonl#{row}" for row in (3, 6)]


def test_a_training_document_that_holds_a_held_out_one_is_left_out(corpus):
    plan, settings = corpus
    drop_leaks(plan, LeakageConfig(), lambda _: settings)
    assert plan.leaks.tolist() == [[3, 2]]
    assert names(plan, TRAIN) == [f"s/a.jsonl#{row}" for row in (1, 2, 5)]


def test_they_may_only_be_reported_or_not_looked_for(corpus):
    plan, settings = corpus
    drop_near_duplicates(plan, NearDuplicateConfig(action="report"), lambda _: settings)
    drop_leaks(plan, LeakageConfig(action="report"), lambda _: settings)
    assert (len(plan.near_duplicates), len(plan.leaks), len(names(plan))) == (1, 1, 6)
    plan.near_duplicates = plan.leaks = np.empty((0, 2), np.int64)
    drop_near_duplicates(plan, NearDuplicateConfig(action="off"), lambda _: settings)
    drop_leaks(plan, LeakageConfig(action="off"), lambda _: settings)
    assert (len(plan.near_duplicates), len(plan.leaks), len(names(plan))) == (0, 0, 6)


def test_leaks_that_must_not_be_stop_the_run_and_are_named(corpus):
    plan, settings = corpus
    with pytest.raises(DataError, match=r"s/a\.jsonl#4 holds 100% of s/a\.jsonl#3"):
        drop_leaks(plan, LeakageConfig(action="fail"), lambda _: settings)


def test_a_held_out_copy_of_a_training_document_does_not_take_both_away(tmp_path):
    text = words(1)
    plan, settings = made(
        tmp_path, [(text, "a"), (f"{text} more", "held"), (words(2), "held2"), (words(3), "b")]
    )
    drop_near_duplicates(plan, NearDuplicateConfig(), lambda _: settings)
    drop_leaks(plan, LeakageConfig(), lambda _: settings)
    assert names(plan) == [f"s/a.jsonl#{row}" for row in (1, 3, 4)]
