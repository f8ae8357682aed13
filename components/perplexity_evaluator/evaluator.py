"""The evaluation: candidate and baseline on the same held-out windows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

from components import progress
from components.baseline.baseline import Baseline
from components.perplexity_evaluator.eval_window import EvalWindow, choose_windows
from components.perplexity_evaluator.evaluation_config import EvaluationConfig
from components.perplexity_evaluator.evaluation_outcome import EvaluationOutcome
from components.perplexity_evaluator.gate import judge
from components.perplexity_evaluator.gate_config import GateConfig
from components.perplexity_evaluator.held_out_document import HeldOutDocument
from components.perplexity_evaluator.results import results_json, totals
from components.perplexity_evaluator.score_store import ScoreStore
from components.perplexity_evaluator.split_warning import split_warning
from components.perplexity_evaluator.window_scores import WindowScores
from models.checkpoint import load_checkpoint
from models.contract.errors import DataError
from models.contract.manifest import VOCAB_PATH, Manifest
from models.contract.vocab import read_vocab
from models.scoring import CheckpointScorer, Scorer
from serving.runners.local_runner import LocalRunner

_TEXTS_PER_CALL = 16


class Evaluator:
    """Scores a package and its baseline; one model is in memory at a time.

    Args:
        package: the candidate's version directory.
        config: windows and amounts.
        store: scores of earlier runs.
        split: settings that decide which documents are held out; kept in the results.
    """

    def __init__(
        self,
        package: Path,
        config: EvaluationConfig,
        store: ScoreStore,
        split: dict[str, Any] | None = None,
    ) -> None:
        self._split = split or {}
        self._package = package
        self._config = config
        self._store = store
        self._manifest = Manifest.load(package)

    def run(
        self, documents: Sequence[HeldOutDocument], baseline: Baseline, gate: GateConfig
    ) -> EvaluationOutcome:
        """Score both models on the same windows and judge the candidate.

        The candidate's own in-graph tokenizer makes the ids, so they are those it serves with.

        Raises:
            DataError: no held-out document has two tokens, the least that can be scored.
        """
        with LocalRunner(self._package) as runner:
            windows = self._windows(documents, runner.tokenize)
            candidate = self._scores(
                self._manifest.content_hash, windows, lambda: nullcontext(runner), "scoring the candidate"
            )
        reference = self._scores(
            baseline.fingerprint, windows, lambda: _open(baseline), f"scoring the {baseline.label}"
        )
        ours, theirs = totals(windows, candidate, reference)
        verdict = judge(
            ours.perplexity,
            theirs.perplexity,
            vocab_size=self._manifest.dims.vocab_size,
            gate=gate,
            baseline_label=baseline.label,
        )
        verdict = replace(verdict, reasons=(*verdict.reasons, *split_warning(baseline, self._split)))
        results = results_json(
            windows,
            candidate,
            reference,
            config=self._config,
            against=baseline,
            verdict=verdict,
            add_bos=self._manifest.tokenizer.add_bos,
        )
        return EvaluationOutcome({**results, "split": self._split}, verdict)

    def _windows(
        self, documents: Sequence[HeldOutDocument], tokenize: Callable[[list[str]], list[list[int]]]
    ) -> list[EvalWindow]:
        tokenized = []
        for start in range(0, len(documents), _TEXTS_PER_CALL):
            part = documents[start : start + _TEXTS_PER_CALL]
            rows = tokenize([document.text.decode("utf-8") for document in part])
            tokenized += [(d.key, d.source, ids) for d, ids in zip(part, rows, strict=True)]
            progress.report("tokenizing held-out text", len(tokenized), len(documents), "documents")
        windows = choose_windows(
            tokenized,
            context=self._config.context,
            stride=self._config.effective_stride,
            num_tokens=self._config.num_tokens,
            token_bytes=read_vocab(self._package / VOCAB_PATH),
        )
        if not windows:
            raise DataError(
                f"none of the {len(documents)} held-out documents has two tokens: nothing can be scored.",
                field="corpus",
                remedy="Add longer texts or raise `corpus.eval_fraction`.",
            )
        return windows

    def _scores(
        self,
        model: str,
        windows: Sequence[EvalWindow],
        open_scorer: Callable[[], AbstractContextManager[Scorer]],
        task: str,
    ) -> WindowScores:
        stored = self._store.get(model, windows)
        if stored is not None:
            progress.report(task, len(windows), len(windows), "windows", "known from an earlier run")
            return stored
        with open_scorer() as scorer:
            scores = WindowScores.measure(
                scorer,
                windows,
                batch_size=self._config.batch_size,
                progress=lambda done: progress.report(task, done, len(windows), "windows"),
            )
        self._store.put(model, windows, scores)
        return scores


@contextmanager
def _open(baseline: Baseline) -> Iterator[Scorer]:
    if baseline.kind == "package":
        with LocalRunner(Path(baseline.path)) as runner:
            yield runner
    else:
        yield CheckpointScorer(load_checkpoint(Path(baseline.path)))
