"""A sample of the full tokenizer test, and that it would see a wrong id."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.preprocessing.tokenizers import vocabularies

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"
SAMPLE_MEGABYTES = 0.5


@pytest.fixture
def full(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(SCRIPTS))
    return importlib.import_module("tokenizer_full")


@pytest.fixture
def small(full: ModuleType, request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A tokenizer.json of the small vocabulary with another pattern, or a small .model."""
    made = importlib.import_module("tokenizer_full_vocabularies")
    if request.param == "sentencepiece":
        return made.trained_model(tmp_path, "bpe", vocab_size=600, size=60_000)
    vocab, merges = vocabularies.small_vocabulary()
    specials = {"<|begin|>": len(vocab), "<|end|>": len(vocab) + 1}
    pattern = {"llama3": made.LLAMA3_PATTERN, "qwen2": made.QWEN2_PATTERN}[request.param]
    value = made.split_json(dict(vocab), merges, specials, pattern)
    value["normalizer"] = {"type": "NFC"} if request.param == "qwen2" else None
    return vocabularies.write(tmp_path / "tokenizer.json", value)


@pytest.mark.parametrize("small", ["llama3", "qwen2", "sentencepiece"], indirect=True)
def test_a_sample_for_every_other_way_of_splitting(full: ModuleType, small: Path):
    jobs = full.plan("small", small, SAMPLE_MEGABYTES / 5)
    outcomes = {job.kind: full.work(job) for job in jobs}
    assert {kind: one.shown for kind, one in outcomes.items() if one.mismatches} == {}
    assert all(outcomes[kind].tokens for kind in (*full.FAMILIES, full.DECODING, "sources"))


@pytest.mark.parametrize("name", ["GPT-2", "SmolLM2"])
def test_a_sample_of_every_kind_has_the_references_ids(full: ModuleType, name: str):
    jobs = full.plan(name, full.prepared(name), SAMPLE_MEGABYTES)
    outcomes = {job.kind: full.work(job) for job in jobs}
    assert {kind: one.shown for kind, one in outcomes.items() if one.mismatches} == {}
    assert set(outcomes) == {*full.TEXT_KINDS, *full.FAMILIES, full.DECODING}
    assert all(outcomes[kind].documents for kind in (*full.FAMILIES, full.DECODING, "sources"))
    made = sum(outcomes[kind].size for kind in full.FAMILIES)
    assert made >= SAMPLE_MEGABYTES * 1e6 * 0.99


def test_the_plan_has_as_much_real_as_made_text_and_no_part_twice(full: ModuleType):
    jobs = full.plan("GPT-2", Path("tokenizer.json"))
    real = [job for job in jobs if job.kind in full.TEXT_KINDS]
    made = [job for job in jobs if job.kind in full.FAMILIES]
    assert sum(job.size for job in real) == pytest.approx(50e6, rel=0.01)
    assert sum(job.size for job in made) == pytest.approx(50e6, rel=0.01)
    assert len({(job.kind, job.part) for job in jobs}) == len(jobs)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--megabytes", "0"], "--megabytes: 0: must be above 0"),
        (["--megabytes", "-1"], "must be above 0"),
        (["--megabytes", "nan"], "must be above 0"),
        (["--megabytes", "inf"], "must be above 0"),
        (["--processes", "0"], "--processes: 0: must be 1 or more"),
        (["--json", "/proc/none/outcomes"], "--json: /proc/none/outcomes: cannot be written"),
    ],
)
def test_options_that_make_no_run_are_refused_at_once(
    full: ModuleType, words: list[str], told: str, capsys: pytest.CaptureFixture[str]
):
    with pytest.raises(SystemExit) as raised:
        full.parse(words)
    assert raised.value.code == 2
    assert told in capsys.readouterr().err


def test_less_real_text_than_asked_for_is_told_by_kind(full: ModuleType):
    jobs = full.plan("GPT-2", Path("tokenizer.json"), 4)
    enough = {("GPT-2", kind): full.Outcome(size=1_000_000) for kind in full.TEXT_KINDS}
    assert full.short_texts(jobs, enough) == {}
    short = {
        **enough,
        ("GPT-2", "man pages"): full.Outcome(),
        ("GPT-2", "sources"): full.Outcome(size=500_000),
    }
    told = "this machine has only 0.50 of 1.00 MB of sources, 0.00 of 1.00 MB of man pages"
    assert full.short_texts(jobs, short) == {"GPT-2": told}


def test_a_wrong_id_is_seen_and_shown_in_the_smallest_text(full: ModuleType, tmp_path: Path):
    check = importlib.import_module("tokenizer_full_check")
    comparer = check.Comparer(_byte_tokenizer(tmp_path), _Capital())
    outcome = comparer.compare([b"no capital", b"some X and more", b"none"])
    assert (outcome.documents, outcome.mismatches) == (3, 1)
    (shown,) = outcome.shown
    assert shown["text"] == repr(b"X")
    assert (shown["ours"], shown["reference"]) == ([88], [0])


def test_a_wrong_text_is_seen(full: ModuleType, tmp_path: Path):
    check = importlib.import_module("tokenizer_full_check")
    outcome = check.Comparer(_byte_tokenizer(tmp_path), _Capital()).compare_decoding(200, "seed")
    assert outcome.documents == 200
    assert 0 < outcome.mismatches < 200


class _Capital:
    """A reference of bytes that takes "X" for something else."""

    def encode(self, texts: list[str]) -> list[list[int]]:
        return [[byte if byte != ord("X") else 0 for byte in text.encode()] for text in texts]

    def decode(self, rows: list[list[int]]) -> list[str]:
        return [bytes(row).decode().replace("X", "x") for row in rows]

    def decodable(self) -> list[int]:
        return list(range(60, 120))


def _byte_tokenizer(folder: Path) -> Any:
    from preprocessing.tokenizers import load_tokenizer, write_byte_tokenizer

    write_byte_tokenizer(folder)
    return load_tokenizer(folder)
