"""The real pretrained model against transformers on PyTorch, from file to logits."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from transformers import AutoTokenizer

from models.checkpoint import load_checkpoint
from models.decoder import Decoder
from models.gguf_import import import_gguf
from models.scoring import CheckpointScorer
from monitoring.perplexity import Perplexity
from preprocessing.windows import windows

CASES = Path(__file__).parent.parent / "data" / "cases"
GREEDY = json.loads((CASES / "smollm2_greedy.json").read_text())
NLL = json.loads((CASES / "smollm2_nll.json").read_text())
SHORTEST_GREEDY = min(range(len(GREEDY)), key=lambda index: len(GREEDY[index]["new_ids"]))
SHORTEST_NLL = min(range(len(NLL)), key=lambda index: len(NLL[index]["text"]))

pytestmark = pytest.mark.smollm2


def _entries(cases: list[dict[str, Any]], shortest: int, name: str) -> list[Any]:
    """The shortest entry runs always, the others with the marker `cases`."""
    return [
        pytest.param(case, id=case[name][:20], marks=() if index == shortest else pytest.mark.cases)
        for index, case in enumerate(cases)
    ]


@pytest.fixture(scope="module")
def checkpoint(smollm2_gguf: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("smollm2") / "checkpoint"
    import_gguf(smollm2_gguf, out)
    return out


@pytest.fixture(scope="module")
def decoder(checkpoint: Path) -> Decoder:
    return load_checkpoint(checkpoint)


@pytest.fixture(scope="module")
def tokenizer(checkpoint: Path) -> Any:
    return AutoTokenizer.from_pretrained(checkpoint)


@pytest.mark.parametrize("case", _entries(GREEDY, SHORTEST_GREEDY, "prompt"))
def test_greedy_ids_and_logprobs(decoder: Decoder, tokenizer: Any, case: dict[str, Any]):
    prompt, new = case["prompt_ids"], case["new_ids"]
    assert tokenizer(case["prompt"], add_special_tokens=False).input_ids == prompt
    # With the right ids as input, every step's best id is the one that greedy decoding would take.
    logits = tf.function(decoder.call, autograph=False)(np.array([prompt + new[:-1]], np.int32))
    log_probs = tf.nn.log_softmax(logits[0, len(prompt) - 1 :]).numpy()
    assert log_probs.argmax(axis=-1).tolist() == new
    np.testing.assert_allclose(log_probs[np.arange(len(new)), new], case["logprobs"], atol=2e-3, rtol=0)


@pytest.mark.parametrize("case", _entries(NLL, SHORTEST_NLL, "name"))
def test_windowed_nll(decoder: Decoder, tokenizer: Any, case: dict[str, Any]):
    ids = tokenizer(case["text"], add_special_tokens=False, split_special_tokens=True).input_ids
    scorer = CheckpointScorer(decoder)
    for wanted in case["values"]:
        found = windows(len(ids), wanted["context"], wanted["stride"])
        rows = np.full((len(found), max(window.end - window.start for window in found)), -1, np.int32)
        for row, window in zip(rows, found, strict=True):
            row[: window.end - window.start] = ids[window.start : window.end]
        lengths = np.array([window.end - window.start for window in found])
        total = Perplexity.total(*scorer.score(rows, lengths, np.array([w.score_from for w in found])))
        assert total.scored == wanted["scored"]
        assert total.nll_sum == pytest.approx(wanted["nll_sum"], rel=1e-4)
        assert total.perplexity == pytest.approx(wanted["ppl"], rel=1e-4 * np.log(wanted["ppl"]))
