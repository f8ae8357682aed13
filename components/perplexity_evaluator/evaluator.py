"""The evaluation: candidate and baseline on the same held-out windows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

from components import progress
from components.baseline.baseline import Baseline
from components.baseline.lookup import checkpoint_fingerprint
from components.perplexity_evaluator.checkpoint_model import CheckpointModel
from components.perplexity_evaluator.eval_window import EvalWindow, choose_windows
from components.perplexity_evaluator.evaluated_model import EvaluatedModel
from components.perplexity_evaluator.evaluation_config import EvaluationConfig
from components.perplexity_evaluator.evaluation_outcome import EvaluationOutcome
from components.perplexity_evaluator.gate import judge, verdict
from components.perplexity_evaluator.gate_config import GateConfig
from components.perplexity_evaluator.held_out_document import HeldOutDocument
from components.perplexity_evaluator.measurement import Measurement
from components.perplexity_evaluator.package_model import PackageModel
from components.perplexity_evaluator.parent_comparison import PARENT_LABEL, ParentComparison
from components.perplexity_evaluator.results import results_json
from components.perplexity_evaluator.sample_prompt import SamplePrompt, choose_prompts
from components.perplexity_evaluator.samples import Samples
from components.perplexity_evaluator.score_store import ScoreStore
from components.perplexity_evaluator.slice_comparison import compare, compare_slices
from components.perplexity_evaluator.split_warning import split_warning
from components.perplexity_evaluator.tokenized_document import TokenizedDocument, tokenized
from components.perplexity_evaluator.vocabulary_warning import vocabulary_warning
from models.contract.errors import ConfigError, DataError
from models.contract.manifest import VOCAB_PATH, Manifest
from models.contract.vocab import read_vocab
from serving.runners.local_runner import LocalRunner


class Evaluator:
    """Scores a package, its baseline and its parent; one model is in memory at a time.

    Args:
        package: the candidate's version directory.
        config: windows and amounts.
        store: scores of earlier runs.
        split: settings that decide which documents are held out; kept in the results.
        parent: checkpoint of the float32 weights that the package was made of; needed if its own are not
            float32, and not looked at otherwise.

    Raises:
        ConfigError: the package's weights are not float32 and there is no parent.
    """

    def __init__(
        self,
        package: Path,
        config: EvaluationConfig,
        store: ScoreStore,
        split: dict[str, Any] | None = None,
        parent: Path | None = None,
    ) -> None:
        self._split = split or {}
        self._package = package
        self._config = config
        self._store = store
        self._manifest = Manifest.load(package)
        self._parent = parent if self._manifest.dtype != "float32" else None
        if parent is None and self._manifest.dtype != "float32":
            raise ConfigError(
                f"{package} has {self._manifest.dtype} weights, and there is no float32 parent to hold them "
                "against.",
                field="parent",
                remedy="Name the checkpoint it was exported from.",
            )

    def run(
        self, documents: Sequence[HeldOutDocument], baseline: Baseline, gate: GateConfig
    ) -> EvaluationOutcome:
        """Score both models on the same windows, let both complete prompts, and judge the candidate.

        A quantised candidate's parent is scored as well. The candidate's own in-graph tokenizer makes the
        ids, so they are those it serves with.

        Raises:
            DataError: no held-out document has two tokens, the least that can be scored.
        """
        with LocalRunner(self._package) as runner:
            windows = self._windows(documents, runner)
            prompts = choose_prompts(windows, self._config.samples, self._max_length(baseline))
            candidate = self._measure(
                self._manifest.content_hash,
                "candidate",
                windows,
                prompts,
                lambda: nullcontext(PackageModel(runner)),
            )
        reference = self._measure(
            baseline.fingerprint, baseline.label, windows, prompts, lambda: _open(baseline)
        )
        parent = self._against_parent(windows, candidate)
        return self._outcome(windows, prompts, candidate, reference, baseline, gate, parent)

    def _against_parent(
        self, windows: Sequence[EvalWindow], candidate: Measurement
    ) -> ParentComparison | None:
        path = self._parent
        if path is None:
            return None
        known = checkpoint_fingerprint(path)
        # Nobody reads its completions: what they would show is whether it was trained well.
        scored = self._measure(known, PARENT_LABEL, windows, (), lambda: nullcontext(CheckpointModel(path)))
        comparison = compare(windows, candidate.scores, scored.scores, self._config)
        return ParentComparison(self._manifest.dtype, str(path), comparison)

    def _outcome(
        self,
        windows: Sequence[EvalWindow],
        prompts: Sequence[SamplePrompt],
        candidate: Measurement,
        reference: Measurement,
        baseline: Baseline,
        gate: GateConfig,
        parent: ParentComparison | None,
    ) -> EvaluationOutcome:
        overall = compare(windows, candidate.scores, reference.scores, self._config)
        slices = compare_slices(windows, candidate.scores, reference.scores, self._config)
        samples = self._samples(prompts, candidate, reference)
        checks = judge(
            overall.perplexity.value,
            overall.baseline_perplexity.value,
            vocab_size=self._manifest.dims.vocab_size,
            gate=gate,
            baseline_label=baseline.label,
            ratio=overall.ratio,
            itself=baseline.kind == "package" and baseline.fingerprint == self._manifest.content_hash,
            slices=slices,
            # What random weights write is no measure of a text.
            texts=samples.figures if samples and baseline.kind != "untrained" else None,
            parent=parent,
        )
        blessing = verdict(checks)
        warnings = (
            *split_warning(baseline, self._split),
            *vocabulary_warning(baseline, overall.bits_per_byte.value),
        )
        blessing = replace(blessing, reasons=(*blessing.reasons, *warnings))
        results = results_json(
            windows,
            overall,
            slices,
            config=self._config,
            against=baseline,
            checks=checks,
            verdict=blessing,
            samples=samples,
            add_bos=self._manifest.tokenizer.add_bos,
            parent=parent,
        )
        return EvaluationOutcome({**results, "split": self._split}, blessing)

    def _samples(
        self, prompts: Sequence[SamplePrompt], candidate: Measurement, reference: Measurement
    ) -> Samples | None:
        if not prompts:
            return None
        vocab = read_vocab(self._package / VOCAB_PATH)
        return Samples(prompts, candidate.completions, reference.completions, vocab)

    def _max_length(self, baseline: Baseline) -> int:
        if baseline.kind != "package":
            return self._manifest.max_length
        return min(self._manifest.max_length, Manifest.load(Path(baseline.path)).max_length)

    def _windows(self, documents: Sequence[HeldOutDocument], runner: LocalRunner) -> list[EvalWindow]:
        token_bytes = read_vocab(self._package / VOCAB_PATH)
        ready: list[TokenizedDocument] = []
        for document in tokenized(documents, runner, token_bytes):
            ready.append(document)
            progress.report("tokenizing held-out text", len(ready), len(documents), "documents")
        windows = choose_windows(
            ready,
            context=self._config.context,
            stride=self._config.effective_stride,
            num_tokens=self._config.num_tokens,
            token_bytes=token_bytes,
        )
        if not windows:
            raise DataError(
                f"none of the {len(documents)} held-out documents has two tokens, or an answer if it is a "
                "conversation: nothing can be scored.",
                field="corpus",
                remedy="Add longer texts or raise `corpus.eval_fraction`.",
            )
        return windows

    def _measure(
        self,
        model: str,
        label: str,
        windows: Sequence[EvalWindow],
        prompts: Sequence[SamplePrompt],
        open_model: Callable[[], AbstractContextManager[EvaluatedModel]],
    ) -> Measurement:
        return Measurement.take(
            model, label, windows, prompts, open_model=open_model, config=self._config, store=self._store
        )


@contextmanager
def _open(baseline: Baseline) -> Iterator[EvaluatedModel]:
    if baseline.kind == "package":
        with LocalRunner(Path(baseline.path)) as runner:
            yield PackageModel(runner)
    else:
        yield CheckpointModel(Path(baseline.path))
