from __future__ import annotations

from models.contract.signatures import SIGNATURES


def test_every_stateful_signature_returns_the_nonce_and_only_those():
    for name, spec in SIGNATURES.items():
        assert ("nonce" in spec.outputs) == spec.stateful, name


def test_serving_default_takes_text_alone():
    assert list(SIGNATURES["serving_default"].inputs) == ["text"]


def test_ids_are_int32_and_seeds_and_nonces_int64():
    for spec in SIGNATURES.values():
        for name, tensor in {**spec.inputs, **spec.outputs}.items():
            if name.endswith(("ids", "_id")):
                assert tensor.dtype == "int32"
            if name in ("seed", "nonce", "row_splits"):
                assert tensor.dtype == "int64"
