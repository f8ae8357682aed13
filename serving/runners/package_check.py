"""Whether a loaded package is what its manifest says; pure comparisons, refused by name."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from models.contract.errors import PackageError
from models.contract.manifest import VOCAB_PATH, Manifest
from models.contract.signatures import SIGNATURES, TensorSpec

_REMEDY = "Export the package again with this version of Tokenmill."


def check_signatures(
    package: Path, manifest: Manifest, signatures: Mapping[str, tuple[Mapping[str, Any], Mapping[str, Any]]]
) -> None:
    """Compare a SavedModel's signatures with the contract.

    Args:
        package: version directory, for messages.
        manifest: whose `signatures` must all be there.
        signatures: name → (inputs, outputs), mappings to TensorInfo protos.

    Raises:
        PackageError: a signature is missing, or a tensor's name, dtype or rank differs.
    """
    for name in manifest.signatures:
        if name not in signatures:
            raise PackageError(f"{package}: signature `{name}` is missing.", field=name, remedy=_REMEDY)
        wanted = SIGNATURES[name]
        for side, specs, infos in (
            ("input", wanted.inputs, signatures[name][0]),
            ("output", wanted.outputs, signatures[name][1]),
        ):
            _check_side(f"{package}: signature `{name}`", side, specs, infos)


def _check_side(where: str, side: str, specs: dict[str, TensorSpec], infos: Mapping[str, Any]) -> None:
    if sorted(specs) != sorted(infos):
        raise PackageError(
            f"{where} has the {side}s {sorted(infos)}, wanted {sorted(specs)}.", field=side, remedy=_REMEDY
        )
    for name, spec in specs.items():
        found = _describe(infos[name])
        if found != (spec.dtype, len(spec.shape)):
            raise PackageError(
                f"{where}: {side} `{name}` has dtype and rank {found}, "
                f"wanted {(spec.dtype, len(spec.shape))}.",
                field=name,
                remedy=_REMEDY,
            )


def _describe(info: Any) -> tuple[str, int | None]:
    import tensorflow as tf

    shape = info.tensor_shape
    return tf.as_dtype(info.dtype).name, None if shape.unknown_rank else len(shape.dim)


def check_stateful(package: Path, manifest: Manifest) -> None:
    """Check that a package has the KV memory that an engine needs.

    Raises:
        PackageError: it is stateless.
    """
    if manifest.is_stateless:
        raise PackageError(
            f"{package} is stateless: it has no KV memory for an engine.",
            field="state_kinds",
            remedy="Export it without `--stateless`, or serve it with TensorFlow Serving.",
        )


def check_vocab(package: Path, manifest: Manifest, vocab: list[bytes]) -> None:
    """Check that the id → bytes table covers no more ids than the network has.

    Raises:
        PackageError: it is empty or larger than the vocabulary.
    """
    if not 0 < len(vocab) <= manifest.dims.vocab_size:
        raise PackageError(
            f"{package}/{VOCAB_PATH} holds {len(vocab)} ids, the network has {manifest.dims.vocab_size}.",
            field="vocab_size",
            remedy=_REMEDY,
        )


def check_golden(package: Path, manifest: Manifest, ids: list[list[int]]) -> None:
    """Compare what the loaded tokenizer makes of the golden texts with the manifest.

    Args:
        package: version directory, for messages.
        manifest: whose golden pairs are compared.
        ids: of each golden text, in order.

    Raises:
        PackageError: a text gives other ids.
    """
    for (text, wanted), found in zip(manifest.tokenizer.golden, ids, strict=True):
        if list(wanted) != found:
            raise PackageError(
                f"{package}: the tokenizer turns {text!r} into {found}, its manifest says {list(wanted)}.",
                field="tokenizer",
                remedy=_REMEDY,
            )
