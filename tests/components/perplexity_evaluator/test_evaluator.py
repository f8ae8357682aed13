from __future__ import annotations

import dataclasses
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from components.baseline.baseline import Baseline
from components.baseline.lookup import checkpoint_fingerprint
from components.perplexity_evaluator.evaluation_config import EvaluationConfig
from components.perplexity_evaluator.evaluation_outcome import EvaluationOutcome
from components.perplexity_evaluator.evaluator import Evaluator
from components.perplexity_evaluator.gate_config import GateConfig
from components.perplexity_evaluator.held_out_document import HeldOutDocument
from components.perplexity_evaluator.sample_config import SampleConfig
from components.perplexity_evaluator.score_store import ScoreStore
from models.checkpoint import load_checkpoint, save_checkpoint
from models.contract.chat_template import ChatTemplate
from models.contract.errors import ConfigError, DataError
from models.contract.manifest import MANIFEST_PATH, Manifest
from preprocessing.tokenizers import load_tokenizer
from tests.components.packages import export_tiny
from tests.tiny import CHAT_TEMPLATE, IM_END, IM_START, TINY, write_tiny_checkpoint

DOCUMENTS = [
    HeldOutDocument(f"def function_{i}(a, b):\n    return a + b * {i}\n".encode() * (i + 1), f"s{i % 2}")
    for i in range(6)
]
CONFIG = EvaluationConfig(
    context=32,
    stride=32,
    num_tokens=10_000,
    batch_size=4,
    bootstrap_samples=100,
    samples=SampleConfig(prompts=0),
)
SAMPLED = CONFIG.model_copy(update={"samples": SampleConfig(prompts=3, prompt_tokens=8, max_tokens=6)})


@pytest.fixture(scope="module")
def flat(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A checkpoint whose head predicts every id alike, and its package."""
    folder = tmp_path_factory.mktemp("flat")
    checkpoint = write_tiny_checkpoint(folder / "random", tied=False)
    decoder = load_checkpoint(checkpoint)
    for variable in decoder.trainable_variables:
        if "head" in variable.path:
            variable.assign(np.zeros(variable.shape))
    save_checkpoint(decoder, folder / "checkpoint", like=checkpoint)
    return folder / "checkpoint", export_tiny(folder / "checkpoint", folder / "package")


def _checkpoint_baseline(path: Path) -> Baseline:
    return Baseline("checkpoint", str(path), checkpoint_fingerprint(path), "First run.")


def _package_baseline(path: Path) -> Baseline:
    return Baseline("package", str(path), Manifest.load(path).content_hash, "Newest.", int(path.name))


def _run(package: Path, baseline: Baseline, store: Path | None = None, **gate: Any) -> EvaluationOutcome:
    return Evaluator(package, CONFIG, ScoreStore(store)).run(DOCUMENTS, baseline, GateConfig(**gate))


def test_a_model_that_knows_nothing_scores_the_vocabulary_size(flat: tuple[Path, Path]):
    outcome = _run(flat[1], _checkpoint_baseline(flat[0]), max_fraction=1.0)
    assert outcome.results["perplexity"] == pytest.approx(TINY.vocab_size, rel=1e-5)
    assert outcome.results["ratio"] == pytest.approx(1.0, abs=1e-6)
    assert outcome.verdict.blessed


def test_the_absolute_ceiling_stops_a_model_that_knows_nothing(flat: tuple[Path, Path]):
    assert not _run(flat[1], _checkpoint_baseline(flat[0])).verdict.blessed


def test_a_random_model_is_not_blessed_against_a_better_package(
    flat: tuple[Path, Path], random_model: tuple[Path, Path]
):
    outcome = _run(random_model[1], _package_baseline(flat[1]), max_fraction=1.0)
    assert not outcome.verdict.blessed
    assert outcome.results["baseline"] == "pushed version 1"
    assert any("gate.max_ratio" in reason for reason in outcome.verdict.reasons)


def test_package_and_checkpoint_of_the_same_weights_score_alike(random_model: tuple[Path, Path]):
    outcome = _run(random_model[1], _checkpoint_baseline(random_model[0]), max_fraction=1.0)
    assert outcome.results["nll_sum"] == pytest.approx(outcome.results["baseline_nll_sum"], rel=1e-5)


def test_a_nan_model_is_not_blessed(nan_model: tuple[Path, Path], flat: tuple[Path, Path]):
    outcome = _run(nan_model[1], _checkpoint_baseline(flat[0]), max_fraction=1.0, max_ratio=1e9)
    assert not outcome.verdict.blessed
    assert outcome.results["perplexity"] is None
    assert "NaN" in outcome.verdict.reasons[0]


def test_a_known_baseline_is_not_loaded_again(tmp_path: Path, random_model: tuple[Path, Path]):
    checkpoint, package = random_model
    store, baseline = ScoreStore(tmp_path / "scores"), _checkpoint_baseline(checkpoint)
    first = Evaluator(package, SAMPLED, store).run(DOCUMENTS, baseline, GateConfig())
    moved = Baseline("checkpoint", str(tmp_path / "gone"), baseline.fingerprint, "First run.")
    second = Evaluator(package, SAMPLED, store).run(DOCUMENTS, moved, GateConfig())
    assert second.results["baseline_nll_sum"] == first.results["baseline_nll_sum"]
    assert second.results["samples"] == first.results["samples"]


def test_both_models_complete_the_same_held_out_prompts(tmp_path: Path, random_model: tuple[Path, Path]):
    checkpoint, package = random_model
    evaluator = Evaluator(package, SAMPLED, ScoreStore(tmp_path))
    results = evaluator.run(DOCUMENTS, _checkpoint_baseline(checkpoint), GateConfig()).results
    assert [sample["source"] for sample in results["samples"]] == ["s0", "s1", "s0"]
    texts = {document.text.decode() for document in DOCUMENTS}
    for sample in results["samples"]:
        assert any(sample["prompt"] + sample["reference"] in text for text in texts)
        assert sample["candidate"] == sample["baseline"]
        assert sample["candidate"]["tokens"] <= 6
    assert results["texts"]["candidate"]["completions"] == 3


def test_slices_have_figures_with_intervals_and_are_judged_when_large_enough(
    flat: tuple[Path, Path],
):
    loose = {"min_documents": 2, "min_tokens": 10}
    outcome = _run(flat[1], _checkpoint_baseline(flat[0]), max_fraction=1.0, slices=loose)
    slices = {(one["by"], one["slice"]): one for one in outcome.results["slices"]}
    assert set(slices) == {("source", "s0"), ("source", "s1"), ("length_class", "up to 512 tokens")}
    for one in slices.values():
        assert one["status"] == "passed"
        low, high = one["intervals"]["perplexity"]
        assert low <= one["perplexity"] * (1 + 1e-6)
        assert one["perplexity"] <= high * (1 + 1e-6)
    assert (
        sum(one["scored"] for key, one in slices.items() if key[0] == "source") == outcome.results["scored"]
    )


def test_a_changed_split_is_a_warning_among_the_reasons_and_no_failure(
    tmp_path: Path, flat: tuple[Path, Path]
):
    package = Path(shutil.copytree(flat[1], tmp_path / "1"))
    manifest = Manifest.load(package)
    pushed = dataclasses.replace(manifest, evaluation={"blessed": True, "split": {"seed": 0}})
    (package / MANIFEST_PATH).write_text(pushed.to_json())
    evaluator = Evaluator(flat[1], CONFIG, ScoreStore(None), {"seed": 5})
    outcome = evaluator.run(DOCUMENTS, _package_baseline(package), GateConfig(max_fraction=1.0))
    assert outcome.verdict.blessed
    assert "corpus.seed 0 → 5" in outcome.verdict.reasons[-1]
    assert outcome.results["reasons"] == list(outcome.verdict.reasons)
    assert outcome.results["split"] == {"seed": 5}


def test_texts_too_short_to_score_are_refused(flat: tuple[Path, Path]):
    evaluator = Evaluator(flat[1], CONFIG, ScoreStore(None))
    with pytest.raises(DataError, match="nothing can be scored"):
        evaluator.run([HeldOutDocument(b"x", "s")], _checkpoint_baseline(flat[0]), GateConfig())


def test_of_conversations_the_answers_alone_are_scored(flat: tuple[Path, Path]):
    template = ChatTemplate(CHAT_TEMPLATE, [IM_START, IM_END])
    chats = []
    for number in range(4):
        messages = [
            {"role": "user", "content": f"the thing {number}"},
            {"role": "assistant", "content": f"in {IM_END} {number}"},
        ]
        segments = template.render(messages)
        text = "".join(segment.text for segment in segments).encode()
        chats.append(HeldOutDocument(text, "chat", segments))
    evaluator = Evaluator(flat[1], CONFIG, ScoreStore(None))
    outcome = evaluator.run(chats, _checkpoint_baseline(flat[0]), GateConfig(max_fraction=1.0))
    tokenizer = load_tokenizer(flat[0])
    answers = tokenizer.encode_batch([f"in {IM_END} {number}" for number in range(4)])
    assert outcome.results["scored"] == sum(len(ids) + 1 for ids in answers)
    assert outcome.results["perplexity"] == pytest.approx(TINY.vocab_size, rel=1e-5)
    assert outcome.results["windows"] == 4


def _as_int8(package: Path, target: Path) -> Path:
    """A copy whose manifest says that its weights are quantised."""
    shutil.copytree(package, target)
    manifest = dataclasses.replace(Manifest.load(target), dtype="int8")
    (target / MANIFEST_PATH).write_text(manifest.to_json())
    return target


def test_a_quantised_package_is_held_against_the_weights_it_was_made_of(
    tmp_path: Path, flat: tuple[Path, Path], random_model: tuple[Path, Path]
):
    spoilt = _as_int8(random_model[1], tmp_path / "1")
    gate = GateConfig(max_fraction=1.0, max_ratio=1e9, slices={"action": "off"})
    baseline, store = _checkpoint_baseline(random_model[0]), ScoreStore(tmp_path / "scores")
    verdicts = {}
    for parent in (random_model[0], flat[0]):
        outcome = Evaluator(spoilt, CONFIG, store, parent=parent).run(DOCUMENTS, baseline, gate)
        verdicts[parent] = outcome.verdict
        found = outcome.results["parent"]
        assert (found["dtype"], found["baseline_path"]) == ("int8", str(parent))
        assert found["perplexity"] == outcome.results["perplexity"]
        assert found["ratio"] == pytest.approx(found["perplexity"] / found["baseline_perplexity"])
        low, high = found["intervals"]["ratio"]
        assert low <= found["ratio"] * (1 + 1e-6)
        assert found["ratio"] <= high * (1 + 1e-6)
    missed = {
        parent: any("gate.max_parent_ratio" in reason for reason in found.reasons)
        for parent, found in verdicts.items()
    }
    assert missed == {random_model[0]: False, flat[0]: True}
    assert not verdicts[flat[0]].blessed


def test_a_float32_package_is_held_against_no_parent(flat: tuple[Path, Path]):
    evaluator = Evaluator(flat[1], CONFIG, ScoreStore(None), parent=Path("nowhere"))
    results = evaluator.run(DOCUMENTS, _checkpoint_baseline(flat[0]), GateConfig(max_fraction=1.0)).results
    assert results["parent"] is None


def test_a_quantised_package_without_a_parent_is_refused(tmp_path: Path, flat: tuple[Path, Path]):
    with pytest.raises(ConfigError, match="has int8 weights, and there is no float32 parent"):
        Evaluator(_as_int8(flat[1], tmp_path / "1"), CONFIG, ScoreStore(None))
