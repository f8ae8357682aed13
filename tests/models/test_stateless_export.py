"""Packages without KV memory, and what TensorFlow Serving's batching does to their signatures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from models.batching_parameters import BATCHING_PATH
from models.contract.errors import ConfigError
from models.contract.manifest import HF_PATH, Manifest
from models.contract.signatures import STATELESS
from models.export_options import ExportOptions
from models.package import verify_content
from serving.runners.session_model import SessionModel
from tests.models.test_export import arenas_of, ops_of, size_of

TEXTS = ["the cat sat", "a", "def add(a, b):\n    return", "naïve 🙂 the the", "0123456789"]


@pytest.fixture(scope="module")
def package(tiny_stateless_package: Path) -> Path:
    return tiny_stateless_package


@pytest.fixture(scope="module")
def model(package: Path) -> SessionModel:
    with SessionModel(package) as model:
        yield model


def test_it_carries_what_needs_no_memory_and_says_so(package: Path, tiny_package: Path, model: SessionModel):
    manifest = Manifest.load(package)
    assert manifest.is_stateless
    assert manifest.num_blocks == manifest.memory_bytes["kv"] == 0
    assert set(manifest.signatures) == {*STATELESS, "embed"} == set(model.signatures)
    assert manifest.xla_buckets == ()
    verify_content(package, manifest)
    assert (package / BATCHING_PATH).is_file()
    assert not (tiny_package / BATCHING_PATH).exists()
    assert (package / HF_PATH / "config.json").is_file()
    assert size_of(package) < size_of(tiny_package)


def test_there_is_no_state_in_its_graph(package: Path):
    assert arenas_of(package) == set()
    assert not {op for op in ops_of(package) if op.startswith(("ResourceGather", "ResourceScatter"))}


def test_the_warm_up_calls_each_of_its_signatures(package: Path):
    import tensorflow as tf
    from tensorflow_serving.apis import prediction_log_pb2

    from models.contract.manifest import WARMUP_PATH

    names = [
        prediction_log_pb2.PredictionLog.FromString(
            record.numpy()
        ).predict_log.request.model_spec.signature_name
        for record in tf.data.TFRecordDataset([str(package / WARMUP_PATH)])
    ]
    assert sorted(names) == sorted(Manifest.load(package).signatures)


def test_its_answers_are_those_of_the_package_with_memory(
    package: Path, tiny_package: Path, model: SessionModel
):
    text = np.array([value.encode() for value in TEXTS], object)
    with SessionModel(tiny_package) as whole:
        for signature in ("serving_default", "tokenize", "score_text", "embed"):
            wanted, found = whole.call(signature, text=text), model.call(signature, text=text)
            for name, value in wanted.items():
                np.testing.assert_array_equal(found[name], value)


@pytest.mark.parametrize(("field", "value"), [("num_blocks", 9), ("profile", "latency")])
def test_options_of_kv_memory_are_refused_by_name(field: str, value: object):
    with pytest.raises(ConfigError, match=f"`{field}` is .*stateless") as caught:
        ExportOptions(stateless=True, **{field: value})
    assert caught.value.field == field


def generate_inputs(texts: list[str], seed: int) -> dict[str, np.ndarray]:
    rows = len(texts)
    return {
        "text": np.array([text.encode() for text in texts], object),
        "max_tokens": np.arange(rows, dtype=np.int32) % 4 + 2 + seed,
        "temperature": np.full(rows, 0.9, np.float32),
        "top_k": np.full(rows, 40, np.int32),
        "top_p": np.full(rows, 0.95, np.float32),
        "min_p": np.zeros(rows, np.float32),
        "seed": np.arange(rows) + seed,
    }


def text_inputs(texts: list[str], _: int) -> dict[str, np.ndarray]:
    return {"text": np.array([text.encode() for text in texts], object)}


def score_inputs(texts: list[str], seed: int) -> dict[str, np.ndarray]:
    rows, width = len(texts), 4 + seed
    return {
        "ids": np.random.default_rng(seed).integers(3, 250, (rows, width)).astype(np.int32),
        "lengths": np.full(rows, width, np.int32),
        "score_from": np.zeros(rows, np.int32),
    }


def joined(requests: list[dict[str, np.ndarray]], rows: int) -> dict[str, np.ndarray]:
    """Inputs of one batch as TensorFlow Serving makes them: shorter rows are filled up with their
    tensor's first element, missing rows are the last request's first one again."""
    batch = {}
    for name in requests[0]:
        values = [request[name] for request in requests]
        if values[0].ndim == 2:
            width = max(value.shape[1] for value in values)
            values = [
                np.pad(value, [(0, 0), (0, width - value.shape[1])], constant_values=value.flat[0])
                for value in values
            ]
        missing = rows - sum(map(len, values))
        batch[name] = np.concatenate([*values, *[values[-1][:1]] * missing])
    return batch


@pytest.mark.parametrize(
    ("signature", "inputs"),
    [
        ("serving_default", text_inputs),
        ("generate", generate_inputs),
        ("score_text", text_inputs),
        ("score_ids", score_inputs),
        ("embed", text_inputs),
    ],
)
def test_requests_joined_by_a_server_get_the_answers_of_their_own(
    model: SessionModel, signature: str, inputs: Any
):
    requests = [inputs(TEXTS[:2], 0), inputs(TEXTS[2:], 3)]
    batch = model.call(signature, **joined(requests, rows=6))
    assert all(len(value) == 6 for value in batch.values()), "the server splits along the first axis"
    for request, part in zip(requests, (slice(0, 2), slice(2, 5)), strict=True):
        for name, wanted in model.call(signature, **request).items():
            found = batch[name][part]
            if signature == "generate" and name == "ids":
                width = wanted.shape[1]
                assert (found[:, width:] == -1).all()
                found = found[:, :width]
            if wanted.dtype == np.float32:
                np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)
            else:
                np.testing.assert_array_equal(found, wanted)


def test_flat_ids_cannot_be_split_by_a_server(model: SessionModel):
    """Why `tokenize` is for servers without batching, and its kin for other packages."""
    result = model.call("tokenize", **text_inputs(TEXTS, 0))
    assert {len(value) for value in result.values()} != {len(TEXTS)}
