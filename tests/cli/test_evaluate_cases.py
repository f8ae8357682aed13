"""`tokenmill evaluate` on the real model: the known answers, from its package and its checkpoint alike."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tokenizers import Tokenizer

from cli.main import cli
from preprocessing.windows import windows

CASES = json.loads((Path(__file__).parent.parent / "data" / "cases" / "smollm2_nll.json").read_text())
TOLERANCE = 1e-4
SHORTEST = min(CASES, key=lambda case: len(case["text"]))

pytestmark = pytest.mark.smollm2


def _entries() -> list[Any]:
    """The first window sizes of the shortest text run always, the others with the marker `cases`."""
    always = (SHORTEST["name"], 0)
    return [
        pytest.param(
            case["text"],
            wanted,
            id=f"{case['name']}-{wanted['context']}-{wanted['stride']}",
            marks=() if (case["name"], index) == always else pytest.mark.cases,
        )
        for case in CASES
        for index, wanted in enumerate(case["values"])
    ]


@pytest.mark.parametrize("kind", ["package", "checkpoint"])
@pytest.mark.parametrize(("text", "wanted"), _entries())
def test_known_answers(smollm2_package: Path, tmp_path: Path, text: str, wanted: dict[str, Any], kind: str):
    models = {"package": smollm2_package, "checkpoint": smollm2_package.parent.parent / "checkpoint"}
    (tmp_path / "text.txt").write_text(text, encoding="utf-8")
    arguments = ["evaluate", f"--{kind}", models[kind], "--text", tmp_path / "text.txt", "--json"]
    arguments += ["--context", wanted["context"], "--stride", wanted["stride"]]
    result = CliRunner().invoke(cli, [str(argument) for argument in arguments])
    assert result.exit_code == 0, result.stderr
    found = json.loads(result.stdout)
    assert found["scored"] == wanted["scored"]
    assert found["nll_sum"] == pytest.approx(wanted["nll_sum"], rel=TOLERANCE)
    assert found["perplexity"] == pytest.approx(wanted["ppl"], rel=TOLERANCE)
    bits = wanted["nll_sum"] / math.log(2) / _scored_bytes(models["checkpoint"], text, wanted)
    assert found["bits_per_byte"] == pytest.approx(bits, rel=TOLERANCE)


def _scored_bytes(checkpoint: Path, text: str, wanted: dict[str, Any]) -> int:
    """Bytes of the tokens that are scored, as the original tokenizer library tells where they lie."""
    tokenizer = Tokenizer.from_file(str(checkpoint / "tokenizer.json"))
    for name in tokenizer.get_added_tokens_decoder().values():
        assert name.content not in text
    tokens = tokenizer.encode(text).tokens
    counts = [len(token) for token in tokens]
    scored = windows(len(tokens), wanted["context"], wanted["stride"])
    return sum(sum(counts[w.start + w.score_from : w.end]) for w in scored)
