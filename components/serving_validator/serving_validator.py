"""ServingValidator: tries a package out as a server would, before anyone may push it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

import numpy as np

from components import progress
from components.blessing import Blessing
from components.serving_validator.cached_stream import CachedStream, stream
from components.serving_validator.stream_comparison import StreamComparison
from components.serving_validator.validation_config import ValidationConfig
from models.checkpoint import load_checkpoint
from models.contract.errors import EngineError, PackageError
from models.contract.manifest import Manifest
from models.decoder_computation import DecoderComputation
from models.package import verify_content
from models.packed.pack_decoder import pack_decoder
from models.packed.weight_forms import WeightForms
from serving.runners.local_runner import LocalRunner

SCORE_TOLERANCE = 2e-3
"""Nats per token by which `score_ids` may differ from the network's own forward: rounding, no more."""

ROUNDED_TOLERANCE = 5e-2
"""The same where activations are rounded to 8 bits: the last bit of one decides about the next layer's."""

ROUNDED_MARGIN = 0.25
"""How close the two best logits may then be and still swap."""


class ServingValidator:
    """Compares what a package streams with what the trained network computes without any cache.

    The trained weights are rounded as the package's are before they are compared with: what rounding
    loses is the evaluator's to judge. A compiled decode is tried as well as the plain one.

    Args:
        package: version directory.
        checkpoint: Hugging Face directory of the weights that were exported.
        config: prompts, lengths and the margin.
    """

    def __init__(self, package: Path, checkpoint: Path, config: ValidationConfig) -> None:
        self._package = package
        self._checkpoint = checkpoint
        self._config = config

    def run(self) -> Blessing:
        """Check the package's loading, hash, tokenizer and streams; its faults become reasons, not errors.

        A package none of whose tokens could be compared is not blessed.
        """
        try:
            with LocalRunner(self._package) as runner:
                verify_content(self._package, runner.manifest)
                streams = self._stream(runner)
                nll_sums = [_score(runner, one) for one in streams]
                golden = len(runner.manifest.tokenizer.golden)
        except (PackageError, EngineError) as error:
            return Blessing(False, (f"The package cannot serve: {error}",))
        comparisons = self._compare(streams, nll_sums)
        faults = [f"Prompt {n}: {one.fault}" for n, one in enumerate(comparisons, 1) if one.fault]
        if faults:
            return Blessing(False, tuple(faults))
        compared = sum(one.compared for one in comparisons)
        return _verdict(streams, compared, golden, self._margin, self._manifest)

    @cached_property
    def _manifest(self) -> Manifest:
        return Manifest.load(self._package)

    @property
    def _rounded(self) -> bool:
        """Whether activations are rounded to 8 bits."""
        return WeightForms.of(self._manifest.profile, self._manifest.dtype).kernel.rounded

    @property
    def _margin(self) -> float:
        return max(self._config.margin, ROUNDED_MARGIN) if self._rounded else self._config.margin

    def _stream(self, runner: LocalRunner) -> list[CachedStream]:
        longest = runner.manifest.max_length
        max_tokens = min(self._config.max_tokens, longest - 1)
        room = longest - max_tokens
        prompts = [ids[-room:] for ids in runner.tokenize(self._config.prompts) if ids]
        if not prompts:
            raise PackageError("none of `validation.prompts` has a token.", field="validation.prompts")
        progress.report("streaming from the package", 0, max_tokens, "tokens per prompt")
        streams = stream(runner, prompts, max_tokens)
        if "decode_xla" not in self._manifest.signatures:
            return streams
        # Weights for one row are compiled for one row.
        alone = self._manifest.profile == "latency"
        tried = [max(prompts, key=len)] if alone else prompts
        progress.report("streaming from the compiled decode", 0, max_tokens, "tokens per prompt")
        return [*streams, *stream(runner, tried, max_tokens, "decode_xla")]

    def _compare(self, streams: Sequence[CachedStream], nll_sums: Sequence[float]) -> list[StreamComparison]:
        decoder: DecoderComputation = load_checkpoint(self._checkpoint)
        if self._manifest.dtype != "float32":
            decoder = pack_decoder(decoder, self._manifest.profile, self._manifest.dtype)
        comparisons = []
        for number, (one, nll_sum) in enumerate(zip(streams, nll_sums, strict=True), 1):
            progress.report("comparing with the uncached network", number, len(streams), "prompts")
            ids = np.array([[*one.prompt, *one.ids]], np.int32)
            logits = np.asarray(decoder.head(decoder.features(ids)))[0].astype(np.float64)
            found = compare(one, logits, self._margin)
            if found.fault is None:
                tolerance = ROUNDED_TOLERANCE if self._rounded else SCORE_TOLERANCE
                fault = _score_fault(ids[0], logits, nll_sum, tolerance)
                found = StreamComparison(found.compared, fault)
            comparisons.append(found)
        return comparisons


def _verdict(
    streams: Sequence[CachedStream], compared: int, golden: int, margin: float, manifest: Manifest
) -> Blessing:
    tokens = sum(len(one.ids) for one in streams)
    if not compared:
        return Blessing(
            False,
            (
                f"None of the {tokens} streamed tokens could be compared with the uncached network: at the "
                f"first token of each of the {len(streams)} streams the two best logits are closer than "
                f"`validation.margin` {margin:g}. The model prefers no token, or the margin is too wide.",
            ),
        )
    rest = (
        ""
        if compared == tokens
        else f" The other {tokens - compared} come after a tie and were not compared."
    )
    compiled = "decode_xla" in manifest.signatures
    what = "streams, with and without XLA," if compiled else "prompts"
    weights = "" if manifest.dtype == "float32" else f", its weights rounded to {manifest.dtype}"
    return Blessing(
        True,
        (
            f"It loads as in TensorFlow Serving; {golden} tokenizer samples and {compared} of {tokens} "
            f"streamed tokens of {len(streams)} {what} were compared and equal the uncached network"
            f"{weights}.{rest}",
        ),
    )


def compare(one: CachedStream, logits: np.ndarray, margin: float) -> StreamComparison:
    """Compare a stream with the uncached forward up to the first tie or difference.

    Args:
        one: the cached stream.
        logits: [T, V], row t predicts the id at t + 1, over prompt and stream.
        margin: where the two best logits are closer, either id is right and the comparison ends,
            because the rest of the stream depends on the choice.
    """
    for step, (got, logprob) in enumerate(zip(one.ids, one.logprobs, strict=True)):
        row = logits[len(one.prompt) - 1 + step]
        if not np.isfinite(row).all() or not math.isfinite(logprob):
            return StreamComparison(step, f"token {step + 1} has NaN or infinite logits.")
        second, best = np.sort(row)[-2:]
        wanted = int(row.argmax())
        if best - second < margin:
            return StreamComparison(step)
        if got != wanted:
            return StreamComparison(
                step,
                f"token {step + 1} is id {got} in the cached stream, {wanted} in the uncached forward, whose "
                f"two best logits are {best - second:.4f} apart.",
            )
    return StreamComparison(len(one.ids))


def _score(runner: LocalRunner, one: CachedStream) -> float:
    ids = np.array([[*one.prompt, *one.ids]], np.int32)
    nll_sum, _ = runner.score(ids, np.array([ids.shape[1]]), np.array([0]))
    return float(nll_sum[0])


def _score_fault(ids: np.ndarray, logits: np.ndarray, nll_sum: float, tolerance: float) -> str | None:
    shifted = logits[:-1] - logits[:-1].max(axis=1, keepdims=True)
    logprobs = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    wanted = -logprobs[np.arange(len(ids) - 1), ids[1:]].sum()
    difference = abs(nll_sum - wanted) / (len(ids) - 1)
    if difference <= tolerance:
        return None
    return f"score_ids says {nll_sum:.4f} nats, the network {wanted:.4f}: {difference:.4g} per token."
