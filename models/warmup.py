"""Warm-up: one harmless call of each signature, replayed by a server before it calls itself ready."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from models.contract.signatures import NO_ID, NULL_BLOCK

_TEXT = np.array([b"warm up"], object)
_TABLE = np.full([1, 2], NULL_BLOCK, np.int32)
"""Holds the two positions that each call runs at most, in blocks of one token and more."""
_SAMPLING = {
    "temperature": np.ones(1, np.float32),
    "top_k": np.zeros(1, np.int32),
    "top_p": np.full(1, 0.9, np.float32),
    "min_p": np.zeros(1, np.float32),
    "seed": np.zeros(1, np.int64),
}


def _row(*values: int) -> np.ndarray:
    return np.array([values], np.int32)


def _one(value: int) -> np.ndarray:
    return np.array([value], np.int32)


def warmup_calls(signatures: Collection[str]) -> list[tuple[str, dict[str, Any]]]:
    """(signature, inputs by name) of those of `signatures` that are not compiled by XLA.

    KV goes to the null block; `reset` is last.
    """
    splits = np.array([0, 1], np.int64)
    calls = {
        "serving_default": {"text": _TEXT},
        "generate": {"text": _TEXT, "max_tokens": _one(2), **_SAMPLING},
        "tokenize": {"text": _TEXT},
        "tokenize_segments": {"text": _TEXT, "special_id": _one(-1), "row_splits": splits},
        "detokenize": {"ids": _one(0), "row_splits": splits},
        "prefill": {
            "ids": _row(0, 0),
            "lengths": _one(2),
            "start": _one(0),
            "block_table": _TABLE,
            **_SAMPLING,
        },
        "decode": {
            "last_id": _one(0),
            "length": _one(1),
            "block_table": _TABLE,
            **_SAMPLING,
            "stop_ids": _row(NO_ID),
            "steps": np.array(1, np.int32),
        },
        "decode_full": {
            "last_id": _one(0),
            "length": _one(1),
            "block_table": _TABLE,
            **_SAMPLING,
            "stop_ids": _row(NO_ID),
            "history": _row(0, 0),
            "generated_from": _one(1),
            "penalties": np.array([[1.1, 0.1, 0.1]], np.float32),
            "bias_ids": _row(0),
            "bias_values": np.ones([1, 1], np.float32),
            "allowed": _row(-1),
        },
        "verify": {
            "last_id": _one(0),
            "length": _one(0),
            "draft_ids": _row(0),
            "draft_lengths": _one(1),
            "block_table": _TABLE,
            **_SAMPLING,
        },
        "copy_blocks": {"source": _one(NULL_BLOCK), "target": _one(NULL_BLOCK)},
        "score_ids": {"ids": _row(0, 0), "lengths": _one(2), "score_from": _one(0)},
        "score_text": {"text": _TEXT},
        "embed": {"text": _TEXT},
        "reset": {},
    }
    return [(name, inputs) for name, inputs in calls.items() if name in signatures]


def write_warmup(path: Path, model_name: str, signatures: Collection[str]) -> None:
    """Write the calls as TensorFlow Serving replays them: a TFRecord of PredictionLog.

    Args:
        path: file to write.
        model_name: put into each request.
        signatures: of the package.
    """
    from tensorflow_serving.apis import predict_pb2, prediction_log_pb2

    with tf.io.TFRecordWriter(str(path)) as writer:
        for signature, inputs in warmup_calls(signatures):
            request = predict_pb2.PredictRequest()
            request.model_spec.name = model_name
            request.model_spec.signature_name = signature
            for name, value in inputs.items():
                request.inputs[name].CopyFrom(tf.make_tensor_proto(value))
            log = prediction_log_pb2.PredictLog(request=request)
            record = prediction_log_pb2.PredictionLog(predict_log=log)
            # Otherwise the order of the inputs would change from process to process.
            writer.write(record.SerializeToString(deterministic=True))
