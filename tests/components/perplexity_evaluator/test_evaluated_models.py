"""A package and its checkpoint are the same model to the evaluation."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from components.perplexity_evaluator.checkpoint_model import CheckpointModel
from components.perplexity_evaluator.completion import Completion
from components.perplexity_evaluator.package_model import PackageModel
from models.checkpoint import load_checkpoint
from serving.runners.local_runner import LocalRunner

PROMPTS = [[5, 9, 200, 41], [77], list(range(10, 30))]
TOKENS = 12


@pytest.fixture(scope="module")
def completions(random_model: tuple[Path, Path]) -> tuple[list[Completion], list[Completion]]:
    checkpoint, package = random_model
    with LocalRunner(package) as runner:
        served = PackageModel(runner).complete(PROMPTS, TOKENS)
    return served, CheckpointModel(checkpoint).complete(PROMPTS, TOKENS)


def test_both_complete_alike(completions: tuple[list[Completion], list[Completion]]):
    assert completions[0] == completions[1]
    assert all(len(one.ids) == TOKENS or one.ended for one in completions[0])


def test_completions_are_the_likeliest_ids(
    completions: tuple[list[Completion], list[Completion]], random_model: tuple[Path, Path]
):
    decoder = load_checkpoint(random_model[0])
    for prompt, completion in zip(PROMPTS, completions[0], strict=True):
        logits = np.asarray(decoder(np.array([[*prompt, *completion.ids]], np.int32)))[0]
        chosen = logits[len(prompt) - 1 : -1].argmax(-1)
        assert chosen.tolist() == list(completion.ids)


def test_an_end_id_ends_and_is_left_out():
    assert Completion.cut([4, 5, 0, 6], (0, 9)) == Completion((4, 5), True)
    assert Completion.cut([0], (0,)) == Completion((), True)
    assert Completion.cut([4, 5], (0,)) == Completion((4, 5), False)
