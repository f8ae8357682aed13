"""A package whose signatures differ from the contract is refused by the name of what differs."""

from __future__ import annotations

from pathlib import Path

import pytest
import tensorflow as tf

from models.contract.errors import PackageError
from models.contract.manifest import Manifest
from models.contract.signatures import SIGNATURES, TensorSpec
from serving.runners.package_check import check_signatures

PACKAGE = Path("packages/7")


def info(spec: TensorSpec) -> object:
    found = tf.compat.v1.MetaGraphDef().signature_def["x"].inputs["y"]
    found.dtype = tf.as_dtype(spec.dtype).as_datatype_enum
    found.tensor_shape.CopyFrom(tf.TensorShape([None] * len(spec.shape)).as_proto())
    return found


def infos(specs: dict[str, TensorSpec]) -> dict[str, object]:
    return {name: info(spec) for name, spec in specs.items()}


@pytest.fixture
def signatures() -> dict[str, tuple[dict[str, object], dict[str, object]]]:
    return {name: (infos(spec.inputs), infos(spec.outputs)) for name, spec in SIGNATURES.items()}


@pytest.fixture
def manifest(tiny_package: Path) -> Manifest:
    return Manifest.load(tiny_package)


def test_the_contract_passes(manifest: Manifest, signatures: dict):
    assert check_signatures(PACKAGE, manifest, signatures) is None


def test_a_missing_signature(manifest: Manifest, signatures: dict):
    del signatures["decode"]
    with pytest.raises(PackageError, match="`decode` is missing"):
        check_signatures(PACKAGE, manifest, signatures)


def test_a_missing_input(manifest: Manifest, signatures: dict):
    del signatures["prefill"][0]["start"]
    with pytest.raises(PackageError, match="`prefill` has the inputs"):
        check_signatures(PACKAGE, manifest, signatures)


def test_another_dtype(manifest: Manifest, signatures: dict):
    signatures["decode"][1]["ids"] = info(TensorSpec("int64", ("B", "N")))
    with pytest.raises(PackageError, match="output `ids` has dtype and rank"):
        check_signatures(PACKAGE, manifest, signatures)


def test_another_rank(manifest: Manifest, signatures: dict):
    signatures["tokenize"][0]["text"] = info(TensorSpec("string", ("B", 1)))
    with pytest.raises(PackageError, match="input `text` has dtype and rank"):
        check_signatures(PACKAGE, manifest, signatures)
