"""Packages: what is in them, that they appear whole, and that they carry one copy of everything."""

from __future__ import annotations

import dataclasses
import math
import re
import shutil
from pathlib import Path

import pytest
import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2

from models.contract.errors import CheckpointError, ConfigError, PackageError
from models.contract.manifest import MANIFEST_PATH, VOCAB_PATH, WARMUP_PATH, Manifest
from models.contract.signatures import MANDATORY, SIGNATURES
from models.contract.vocab import read_vocab
from models.decoder_config import DecoderConfig
from models.export import GOLDEN_TEXTS, export_package
from models.export_options import ExportOptions
from models.package import content_hash, verify_content
from preprocessing.tokenizers import load_tokenizer
from tests.tiny import TINY, write_tiny_checkpoint
from tests.tiny_package import NUM_BLOCKS


def size_of(path: Path) -> int:
    return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())


def ops_of(package: Path) -> set[str]:
    proto = saved_model_pb2.SavedModel()
    proto.ParseFromString((package / "saved_model.pb").read_bytes())
    graph = proto.meta_graphs[0].graph_def
    return {node.op for node in graph.node} | {
        node.op for function in graph.library.function for node in function.node_def
    }


def test_the_manifest_says_what_was_exported(tiny_checkpoint: Path, tiny_package: Path):
    manifest = Manifest.load(tiny_package)
    tokenizer = load_tokenizer(tiny_checkpoint)
    assert manifest.model == "tiny"
    assert manifest.dims == TINY.dims
    assert (manifest.max_length, manifest.block_size, manifest.num_blocks) == (256, 4, NUM_BLOCKS)
    assert manifest.eos_ids == DecoderConfig.load(tiny_checkpoint).eos_ids
    assert manifest.tokenizer.fingerprint == tokenizer.fingerprint
    assert manifest.tokenizer.golden[0] == (
        GOLDEN_TEXTS[0],
        tuple(tokenizer.encode_batch(GOLDEN_TEXTS[:1])[0]),
    )
    # Outputs are filled up to a multiple of 64.
    stored = tf.train.load_checkpoint(str(tiny_package / "variables" / "variables"))
    shapes = stored.get_variable_to_shape_map().items()
    sizes = [math.prod(shape) for name, shape in shapes if "VARIABLE_VALUE" in name]
    assert manifest.memory_bytes["weights"] == 4 * sum(sizes) > 4 * TINY.num_parameters
    assert manifest.memory_bytes["kv"] == 4 * NUM_BLOCKS * manifest.kv_bytes_per_token
    assert manifest.chat_template
    assert manifest.created
    assert read_vocab(tiny_package / VOCAB_PATH) == tokenizer.token_bytes


def test_weights_are_written_once_and_arenas_not_at_all(tiny_package: Path):
    manifest = Manifest.load(tiny_package)
    written = size_of(tiny_package / "variables")
    assert written < manifest.memory_bytes["weights"] * 1.1 + 10_000


def test_more_kv_memory_does_not_make_a_package_larger(
    tiny_checkpoint: Path, tiny_package: Path, tmp_path: Path
):
    options = ExportOptions(model_name="tiny", block_size=4, num_blocks=400_000)
    large = export_package(tiny_checkpoint, tmp_path, options)
    assert Manifest.load(large).memory_bytes["kv"] > 50 * size_of(large)
    assert size_of(large) < size_of(tiny_package) * 1.01


def test_two_exports_of_equal_weights_are_equal_but_for_when_and_why(
    tiny_checkpoint: Path, tiny_package: Path, tmp_path: Path
):
    options = ExportOptions(model_name="tiny", block_size=4, num_blocks=NUM_BLOCKS, run_id="another")
    again = export_package(tiny_checkpoint, tmp_path, options)
    manifests = [Manifest.load(package) for package in (tiny_package, again)]
    assert content_hash(again) == content_hash(tiny_package) == manifests[1].content_hash
    assert dataclasses.replace(manifests[1], run_id="", created=manifests[0].created) == manifests[0]


def test_packages_of_other_weights_never_share_their_memory(tiny_package: Path, tmp_path: Path):
    options = ExportOptions(model_name="tiny", block_size=4, num_blocks=NUM_BLOCKS)
    other = export_package(write_tiny_checkpoint(tmp_path / "checkpoint", seed=1), tmp_path / "a", options)
    first, second = (arenas_of(package) for package in (tiny_package, other))
    assert len(first) == len(second) == 2 * TINY.num_layers + 1
    assert not first & second


def arenas_of(package: Path) -> set[bytes]:
    """Names by which the KV arenas and the nonce are found in a process."""
    return set(re.findall(rb"kv_[0-9a-f]{16}_[a-z]+(?:_\d+)?", (package / "saved_model.pb").read_bytes()))


def test_no_operation_needs_python(tiny_package: Path):
    ops = ops_of(tiny_package)
    assert "ResourceGatherNd" in ops
    assert not {op for op in ops if re.search("PyFunc|PyFunction", op)}


def test_the_warm_up_calls_every_signature_and_ends_with_reset(tiny_package: Path):
    from tensorflow_serving.apis import prediction_log_pb2

    records = [record.numpy() for record in tf.data.TFRecordDataset([str(tiny_package / WARMUP_PATH)])]
    requests = [prediction_log_pb2.PredictionLog.FromString(record).predict_log.request for record in records]
    names = [request.model_spec.signature_name for request in requests]
    assert sorted(names) == sorted(Manifest.load(tiny_package).signatures)
    assert set(names) >= set(MANDATORY)
    assert names[-1] == "reset"
    for request in requests:
        specs = SIGNATURES[request.model_spec.signature_name].inputs
        assert sorted(request.inputs) == sorted(specs)
        for name, spec in specs.items():
            value = request.inputs[name]
            assert tf.as_dtype(value.dtype).name == spec.dtype
            assert len(value.tensor_shape.dim) == len(spec.shape)


def test_the_hash_covers_every_file_but_the_manifest(tiny_package: Path, tmp_path: Path):
    copy = tmp_path / "3"
    shutil.copytree(tiny_package, copy)
    manifest = Manifest.load(copy)
    verify_content(copy, manifest)
    (copy / MANIFEST_PATH).write_text(dataclasses.replace(manifest, run_id="another").to_json())
    verify_content(copy, manifest)
    vocab = (copy / VOCAB_PATH).read_bytes()
    (copy / VOCAB_PATH).write_bytes(vocab[:-1] + b"?")
    with pytest.raises(PackageError, match="manifest says"):
        verify_content(copy, manifest)
    assert content_hash(copy) != manifest.content_hash


def test_an_existing_version_is_refused_and_left_alone(tiny_checkpoint: Path, tiny_package: Path):
    before = content_hash(tiny_package)
    with pytest.raises(ConfigError, match="exists already"):
        export_package(tiny_checkpoint, tiny_package.parent, ExportOptions(), version=3)
    assert content_hash(tiny_package) == before


def test_nothing_is_left_behind_when_an_export_fails(
    tiny_checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def fail(path: Path, model_name: str, signatures: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("models.export.write_warmup", fail)
    base = tmp_path / "base"
    with pytest.raises(OSError, match="No space"):
        export_package(tiny_checkpoint, base, ExportOptions(num_blocks=8))
    assert list(base.iterdir()) == []


def test_a_missing_checkpoint_is_named_and_nothing_written(tmp_path: Path):
    with pytest.raises(CheckpointError, match="nowhere"):
        export_package(tmp_path / "nowhere", tmp_path / "base", ExportOptions())
    assert not (tmp_path / "base").exists()


def test_a_tokenizer_with_more_ids_than_the_network_is_refused(tiny_checkpoint: Path, tmp_path: Path):
    checkpoint = write_tiny_checkpoint(tmp_path / "small", vocab_size=TINY.vocab_size - 1)
    with pytest.raises(CheckpointError, match="the tokenizer has"):
        export_package(checkpoint, tmp_path / "base", ExportOptions())
