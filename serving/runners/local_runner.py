"""LocalRunner: a model package in this process, loaded and called as TensorFlow Serving does."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np

from models.contract.errors import InvalidRequestError
from models.contract.manifest import VOCAB_PATH, Manifest
from models.contract.runner_observer import RunnerObserver
from models.contract.sampling_params import SamplingParams
from models.contract.vocab import read_vocab
from serving.engine.scheduler_output import SchedulerOutput
from serving.engine.step_result import StepResult
from serving.runners.bucket_warmup import BucketWarmup
from serving.runners.compiled_decode import CompiledDecode
from serving.runners.package_check import check_golden, check_signatures, check_stateful, check_vocab
from serving.runners.session_model import SessionModel
from serving.runners.step_executor import StepExecutor

_DEFAULT = SamplingParams()
_ENGINES = (
    "stop",
    "stop_ids",
    "ignore_eos",
    "repetition_penalty",
    "frequency_penalty",
    "presence_penalty",
    "logit_bias",
    "min_tokens",
)
"""What the package's own generate does not do."""


class Generated(NamedTuple):
    """An answer of the package's own `generate`.

    Args:
        text: without the end id.
        ids: with the end id, if one ended it.
        finish_reason: "stop" or "length".
        logprob_sum: over all ids.
    """

    text: str
    ids: list[int]
    finish_reason: str
    logprob_sum: float


class LocalRunner:
    """A package ready to be called; its calls must come one after the other.

    A stateless package tokenizes, generates and scores; what needs KV memory is refused.

    Args:
        package: version directory.
        threads: of computation; 0 leaves the choice to TensorFlow.
        observer: told of compilations and of what decode calls run on.

    Attributes:
        manifest: what the package says of itself.
        vocab: bytes of every id of the network; empty for ids that pad a vocabulary.
        nonce: of the KV memory's present life; a change means that all KV blocks are lost. 0 of a
            stateless package.
        warmup: compiles the package's XLA buckets in the background once it is started; until a
            bucket is warm, and in a package without XLA, decode calls run uncompiled.

    Raises:
        PackageError: the package cannot be loaded or is not what its manifest says.
    """

    def __init__(self, package: Path, threads: int = 0, observer: RunnerObserver | None = None) -> None:
        self.package = package
        observer = observer or RunnerObserver()
        self.manifest = Manifest.load(package)
        self.vocab = read_vocab(package / VOCAB_PATH)
        check_vocab(package, self.manifest, self.vocab)
        self.vocab += [b""] * (self.manifest.dims.vocab_size - len(self.vocab))
        self.model = SessionModel(package, threads, observer.executor_built)
        self.nonce = 0
        try:
            check_signatures(package, self.manifest, self.model.signatures)
            golden = [text for text, _ in self.manifest.tokenizer.golden]
            check_golden(package, self.manifest, self.tokenize(golden))
            if not self.manifest.is_stateless:
                self.reset()
        except BaseException:
            self.model.close()
            raise
        self._decode = CompiledDecode(self.manifest, observer)
        self.warmup = BucketWarmup(self.model.call, self._decode, observer)

    def call(self, signature: str, **arrays: Any) -> dict[str, np.ndarray]:
        """Run a signature; see `SessionModel.call`. Notes the nonce of stateful ones."""
        result = self.model.call(signature, **arrays)
        if "nonce" in result:
            self.nonce = int(result["nonce"])
        return result

    def execute(self, output: SchedulerOutput) -> StepResult:
        """Run one step of an engine; implements `serving.engine.model_runner.ModelRunner`.

        Raises:
            PackageError: the package is stateless.
        """
        check_stateful(self.package, self.manifest)
        return StepExecutor(partial(self._decode.run, self.call)).execute(output, self.nonce)

    def tokenize(self, texts: Sequence[str]) -> list[list[int]]:
        """Ids of each text, special-token strings taken as plain text."""
        if not texts:
            return []
        result = self.call("tokenize", text=_bytes(texts))
        return _rows(result["ids"], result["row_splits"])

    def tokenize_segments(self, prompts: Sequence[Sequence[str | int]]) -> list[list[int]]:
        """Ids of prompts made of pieces: text, or the id of a special token."""
        if not prompts:
            return []
        pieces = [piece for prompt in prompts for piece in prompt]
        result = self.call(
            "tokenize_segments",
            text=_bytes([piece if isinstance(piece, str) else "" for piece in pieces]),
            special_id=np.array([-1 if isinstance(piece, str) else piece for piece in pieces], np.int32),
            row_splits=_splits(prompts),
        )
        return _rows(result["ids"], result["row_splits"])

    def detokenize(self, ids: Sequence[Sequence[int]]) -> list[str]:
        """Text of each row of ids; broken UTF-8 becomes U+FFFD."""
        if not ids:
            return []
        flat = np.array([value for row in ids for value in row], np.int32)
        result = self.call("detokenize", ids=flat, row_splits=_splits(ids))
        return [text.decode("utf-8", "replace") for text in result["text"]]

    def score(
        self, ids: np.ndarray, lengths: np.ndarray, score_from: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Negative log-likelihoods of windows; implements `models.scoring.Scorer`.

        Args:
            ids: [B, T] int32.
            lengths: [B] int32, valid ids per row.
            score_from: [B] int32; position t counts iff max(1, score_from) ≤ t < lengths.

        Returns:
            nll_sum [B] float32 in nats, scored [B] int32.
        """
        rows = (np.asarray(value, np.int32) for value in (ids, lengths, score_from))
        result = self.call("score_ids", **dict(zip(("ids", "lengths", "score_from"), rows, strict=True)))
        return result["nll_sum"], result["scored"]

    def generate(self, texts: Sequence[str], params: SamplingParams | None = None) -> list[Generated]:
        """Answers of the stateless `generate`: no KV blocks are touched.

        Args:
            texts: prompts.
            params: of all of them; stop strings, stop ids and `ignore_eos` are the engine's.

        Raises:
            InvalidRequestError: a prompt and its answer do not fit into the context, or params ask
                for what only the engine does.
        """
        params = params or SamplingParams()
        engines = [name for name in _ENGINES if getattr(params, name) != getattr(_DEFAULT, name)]
        if engines:
            raise InvalidRequestError(
                f"`{engines[0]}` is not taken by the package's own generate.",
                field=engines[0],
                remedy="Generate through the engine.",
            )
        if not texts:
            return []
        result = self.call("generate", text=_bytes(texts), **_sampling_rows(params, len(texts)))
        return [
            Generated(
                text.decode("utf-8", "replace"), row[:length].tolist(), reason.decode(), float(logprob_sum)
            )
            for text, row, length, reason, logprob_sum in zip(
                *(result[name] for name in ("text", "ids", "length", "finish_reason", "logprob_sum")),
                strict=True,
            )
        ]

    def reset(self) -> int:
        """Zero all KV memory; returns the new nonce.

        Raises:
            PackageError: the package is stateless.
        """
        check_stateful(self.package, self.manifest)
        self.call("reset")
        return self.nonce

    def close(self) -> None:
        """Free the package's memory; waits for a compilation. Closing twice is harmless."""
        self.warmup.stop(wait=True)
        self.model.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _bytes(texts: Sequence[str]) -> np.ndarray:
    return np.array([text.encode("utf-8", "replace") for text in texts], object)


def _rows(flat: np.ndarray, splits: np.ndarray) -> list[list[int]]:
    return [flat[a:b].tolist() for a, b in itertools.pairwise(splits)]


def _splits(rows: Sequence[Sequence[Any]]) -> np.ndarray:
    return np.cumsum([0, *map(len, rows)], dtype=np.int64)


def _sampling_rows(params: SamplingParams, rows: int) -> dict[str, np.ndarray]:
    return {
        "max_tokens": np.full(rows, params.max_tokens, np.int32),
        "temperature": np.full(rows, params.temperature, np.float32),
        "top_k": np.full(rows, params.top_k, np.int32),
        "top_p": np.full(rows, params.top_p, np.float32),
        "min_p": np.full(rows, params.min_p, np.float32),
        "seed": np.full(rows, params.seed, np.int64),
    }
