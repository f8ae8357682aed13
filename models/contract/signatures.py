"""Names, dtypes and shapes of a model package's signatures, frozen.

Dimensions: B rows, T padded prompt, N steps, E stop ids, P block pairs, S segments, K blocks of
a row, F flat ids, D draft ids, L ids of history, A biases, W words of a mask; an int is fixed. Ids
and lengths are int32, scores float32, seeds and nonces int64, row splits int64. Exporters build
exactly these; loaders refuse a package that differs.
"""

from __future__ import annotations

from dataclasses import dataclass

TOP_LOGPROBS = 20
"""How many best ids, with log-probabilities, every generating signature returns."""

NULL_BLOCK = 0
"""Padded rows and positions write to this block; it is never allocated."""

NO_ID = -1
"""Fills id rows that have fewer ids than their tensor has columns."""


@dataclass(frozen=True, slots=True)
class TensorSpec:
    """One named tensor of a signature.

    Args:
        dtype: "int32", "int64", "float32" or "string".
        shape: a letter for a dimension known at run time, an int for a fixed one; () is a scalar.
    """

    dtype: str
    shape: tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class SignatureSpec:
    """One signature.

    Args:
        inputs: by name, in the order callers may rely on.
        outputs: by name; callers always ask for all of them, since a server builds a new executor
            for each distinct set.
        stateful: whether it reads or writes KV blocks; such calls are serialised by one engine.
    """

    inputs: dict[str, TensorSpec]
    outputs: dict[str, TensorSpec]
    stateful: bool = False


def _i(*shape: str | int) -> TensorSpec:
    return TensorSpec("int32", shape)


def _l(*shape: str | int) -> TensorSpec:
    return TensorSpec("int64", shape)


def _f(*shape: str | int) -> TensorSpec:
    return TensorSpec("float32", shape)


def _s(*shape: str | int) -> TensorSpec:
    return TensorSpec("string", shape)


_SAMPLING_ROWS = {
    "temperature": _f("B"),
    "top_k": _i("B"),
    "top_p": _f("B"),
    "min_p": _f("B"),
    "seed": _l("B"),
}
_NONCE = {"nonce": _l()}
_DECODE_ROWS = {
    "last_id": _i("B"),
    "length": _i("B"),
    "block_table": _i("B", "K"),
    **_SAMPLING_ROWS,
    "stop_ids": _i("B", "E"),
}
_DECODE = SignatureSpec(
    {**_DECODE_ROWS, "steps": _i()},
    {
        "ids": _i("B", "N"),
        "logprobs": _f("B", "N"),
        "top_ids": _i("B", "N", TOP_LOGPROBS),
        "top_logprobs": _f("B", "N", TOP_LOGPROBS),
        "finished_at": _i("B"),
        **_NONCE,
    },
    stateful=True,
)

SIGNATURES: dict[str, SignatureSpec] = {
    "serving_default": SignatureSpec({"text": _s("B")}, {"text": _s("B")}),
    "generate": SignatureSpec(
        {"text": _s("B"), "max_tokens": _i("B"), **_SAMPLING_ROWS},
        {
            "text": _s("B"),
            "ids": _i("B", "N"),
            "length": _i("B"),
            "finish_reason": _s("B"),
            "logprob_sum": _f("B"),
        },
    ),
    "tokenize": SignatureSpec({"text": _s("B")}, {"ids": _i("F"), "row_splits": _l("R")}),
    "tokenize_segments": SignatureSpec(
        {"text": _s("S"), "special_id": _i("S"), "row_splits": _l("R")},
        {"ids": _i("F"), "row_splits": _l("R")},
    ),
    "detokenize": SignatureSpec({"ids": _i("F"), "row_splits": _l("R")}, {"text": _s("B")}),
    "prefill": SignatureSpec(
        {
            "ids": _i("B", "T"),
            "lengths": _i("B"),
            "start": _i("B"),
            "block_table": _i("B", "K"),
            **_SAMPLING_ROWS,
        },
        {
            "next_id": _i("B"),
            "logprob": _f("B"),
            "top_ids": _i("B", TOP_LOGPROBS),
            "top_logprobs": _f("B", TOP_LOGPROBS),
            **_NONCE,
        },
        stateful=True,
    ),
    "decode": _DECODE,
    "decode_xla": _DECODE,
    "decode_full": SignatureSpec(
        {
            **_DECODE_ROWS,
            "history": _i("B", "L"),
            "generated_from": _i("B"),
            "penalties": _f("B", 3),
            "bias_ids": _i("B", "A"),
            "bias_values": _f("B", "A"),
            "allowed": _i("B", "W"),
        },
        _DECODE.outputs,
        stateful=True,
    ),
    "verify": SignatureSpec(
        {
            "last_id": _i("B"),
            "length": _i("B"),
            "draft_ids": _i("B", "D"),
            "draft_lengths": _i("B"),
            "block_table": _i("B", "K"),
            **_SAMPLING_ROWS,
        },
        {
            "accepted": _i("B"),
            "next_id": _i("B"),
            "logprobs": _f("B", "D1"),
            "top_ids": _i("B", "D1", TOP_LOGPROBS),
            "top_logprobs": _f("B", "D1", TOP_LOGPROBS),
            **_NONCE,
        },
        stateful=True,
    ),
    "copy_blocks": SignatureSpec({"source": _i("P"), "target": _i("P")}, _NONCE, stateful=True),
    "reset": SignatureSpec({}, _NONCE, stateful=True),
    "score_ids": SignatureSpec(
        {"ids": _i("B", "T"), "lengths": _i("B"), "score_from": _i("B")},
        {"nll_sum": _f("B"), "scored": _i("B")},
    ),
    "score_text": SignatureSpec({"text": _s("B")}, {"nll_sum": _f("B"), "scored": _i("B"), "bytes": _i("B")}),
    "embed": SignatureSpec({"text": _s("B")}, {"embedding": _f("B", "H"), "tokens": _i("B")}),
}
"""Every signature that a package of schema version 1 may carry, by name.

`tokenize`'s R is B + 1. `prefill` runs the `lengths` valid ids of each row at the positions from
`start` on and samples the id that follows the last one. `decode` takes the KV of `length` tokens
as present, runs `last_id` at position `length`, and goes on for `steps` steps; `finished_at` is
the first step whose id is among `stop_ids` (filled up with NO_ID), else N. `generate` pads ids
with NO_ID. `score_ids` scores position t iff max(1, score_from) <= t < lengths. `reset` zeroes
all KV memory and draws a new nonce.

`decode_xla` is `decode` compiled: at most `MAX_XLA_STEPS` steps, one compilation for each number of
rows and of block-table columns. `decode_full` is `decode` with one step, N = 1: the id is chosen from
logits to which, in this order, `allowed` (bit i of word w stands for id 32 w + i; no words allow all
ids), the biases (NO_ID fills up), and the penalties (repetition over all of `history`, frequency and
presence over its ids from index `generated_from` on; NO_ID fills up) were applied. `verify` runs
`last_id` and the drafts behind it: `accepted` drafts are what would have been sampled, `next_id`
follows them; logprobs and top ids of row b are valid up to column `accepted` [b]; D1 is D + 1.
`embed` is the mean of the final norm's outputs over a text's tokens; H is the hidden size.
"""

MAX_XLA_STEPS = 16
"""Most steps of a `decode_xla` call."""

STATELESS = ("serving_default", "generate", "tokenize", "score_ids", "score_text")
"""Signatures that every package carries. All but `tokenize`, whose ids are flat, can be batched by
TensorFlow Serving: it wants every output to have one row for each row of the inputs."""

MANDATORY = (*STATELESS, "tokenize_segments", "detokenize", "prefill", "decode", "copy_blocks", "reset")
"""Signatures that every package with KV memory carries; the others may be missing in older ones."""
