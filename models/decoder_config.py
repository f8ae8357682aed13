"""DecoderConfig: everything that decides what a decoder computes, read from and written to HF form."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

from models.contract.errors import CheckpointError
from models.contract.manifest import ModelDims
from models.families.family import Family
from models.families.registry import FAMILIES, family_of

_SIZES = {
    "vocab_size": "vocab_size",
    "hidden_size": "hidden_size",
    "intermediate_size": "intermediate_size",
    "num_layers": "num_hidden_layers",
    "num_heads": "num_attention_heads",
    "num_kv_heads": "num_key_value_heads",
    "head_dim": "head_dim",
    "max_length": "max_position_embeddings",
}
"""Our field → Hugging Face's."""


@dataclass(frozen=True, slots=True)
class DecoderConfig:
    """Sizes and constants of one decoder; immutable, validated on construction.

    Args:
        vocab_size: ids, V.
        hidden_size: width of the residual stream, E.
        intermediate_size: width of the gated MLP.
        num_layers: blocks.
        num_heads: query heads, H.
        num_kv_heads: key and value heads, Hkv; divides H.
        head_dim: width of a head, D; even.
        max_length: longest sequence the model was made for, in tokens.
        rope_theta: base of the rotary frequencies.
        norm_eps: added to the mean square in RMSNorm.
        tied: whether the head is the embedding.
        bos_id: begin-of-sequence id or None.
        eos_ids: ids that end an answer.
        pad_id: padding id of the checkpoint or None; kept for others, never used.
        family: name of a family in `models.families.registry`.

    Raises:
        CheckpointError: a value is out of range; `field` names it.
    """

    vocab_size: int
    hidden_size: int
    intermediate_size: int
    num_layers: int
    num_heads: int
    num_kv_heads: int
    head_dim: int
    max_length: int = 2048
    rope_theta: float = 10000.0
    norm_eps: float = 1e-5
    tied: bool = True
    bos_id: int | None = None
    eos_ids: tuple[int, ...] = ()
    pad_id: int | None = None
    family: str = "llama"

    def __post_init__(self) -> None:
        for name in _SIZES:
            value = getattr(self, name)
            _check(name, value, _is_int(value) and value >= 1, "a positive integer")
        for name in ("rope_theta", "norm_eps"):
            value = getattr(self, name)
            number = isinstance(value, int | float) and not isinstance(value, bool)
            _check(name, value, number and math.isfinite(value) and value > 0, "a positive number")
        _check(
            "num_kv_heads",
            self.num_kv_heads,
            self.num_heads % self.num_kv_heads == 0,
            "a divisor of num_heads",
        )
        _check("head_dim", self.head_dim, self.head_dim % 2 == 0, "even")
        _check("family", self.family, self.family in FAMILIES, f"one of {sorted(FAMILIES)}")
        for value in (self.bos_id, self.pad_id, *self.eos_ids):
            ok = value is None or (_is_int(value) and 0 <= value < self.vocab_size)
            _check("special token id", value, ok, f"an id below vocab_size ({self.vocab_size})")

    @property
    def dims(self) -> ModelDims:
        """The sizes as a package's manifest records them."""
        return ModelDims(
            vocab_size=self.vocab_size,
            hidden_size=self.hidden_size,
            intermediate_size=self.intermediate_size,
            num_layers=self.num_layers,
            num_heads=self.num_heads,
            num_kv_heads=self.num_kv_heads,
            head_dim=self.head_dim,
        )

    @property
    def num_parameters(self) -> int:
        """Numbers the decoder's weights hold; a tied embedding counts once."""
        projections = (2 * self.num_heads + 2 * self.num_kv_heads) * self.head_dim
        block = self.hidden_size * (projections + 3 * self.intermediate_size + 2)
        tables = (1 if self.tied else 2) * self.vocab_size * self.hidden_size
        return tables + self.num_layers * block + self.hidden_size

    def with_end_ids(self, eos_ids: tuple[int, ...]) -> Self:
        """The same decoder with other end ids, e.g. those of generation_config.json."""
        return replace(self, eos_ids=eos_ids)

    @classmethod
    def from_hf(cls, raw: Mapping[str, Any], source: str = "config.json") -> Self:
        """Read a Hugging Face config.

        Args:
            raw: the parsed config.json, of transformers 4 or 5.
            source: the file's name for messages.

        Raises:
            CheckpointError: unknown architecture, a missing or wrong field, or a field that would
                change the computation in a way this decoder does not support; the message names it.
        """
        family = family_of(raw, source)
        _refuse_unsupported(raw, family, source)
        sizes = dict(raw)
        sizes.setdefault("num_key_value_heads", raw.get("num_attention_heads"))
        if sizes["num_key_value_heads"] is None:
            sizes["num_key_value_heads"] = raw.get("num_attention_heads")
        if sizes.get("head_dim") is None:
            sizes["head_dim"] = _head_dim(raw, source)
        return cls(
            **{ours: _integer(sizes, theirs, source) for ours, theirs in _SIZES.items()},
            rope_theta=_rope_theta(raw, source),
            norm_eps=raw.get("rms_norm_eps", 1e-6),
            tied=bool(raw.get("tie_word_embeddings", False)),
            bos_id=raw.get("bos_token_id"),
            eos_ids=_ids(raw.get("eos_token_id")),
            pad_id=_pad_id(raw.get("pad_token_id")),
            family=family.name,
        )

    @classmethod
    def load(cls, directory: Path) -> Self:
        """Read `config.json` of a checkpoint directory; end ids of `generation_config.json` win.

        Raises:
            CheckpointError: a file is missing, is not JSON, or `from_hf` refuses it.
        """
        path = directory / "config.json"
        config = cls.from_hf(read_json(path), str(path))
        generation = directory / "generation_config.json"
        if generation.is_file():
            ids = _ids(read_json(generation).get("eos_token_id"))
            config = config.with_end_ids(ids) if ids else config
        return config

    def to_hf(self) -> dict[str, Any]:
        """The config.json that transformers 4 and 5 read."""
        eos: int | list[int] | None = list(self.eos_ids) or None
        return {
            "architectures": [FAMILIES[self.family].architecture],
            "model_type": self.family,
            **{theirs: getattr(self, ours) for ours, theirs in _SIZES.items()},
            "hidden_act": "silu",
            "rms_norm_eps": self.norm_eps,
            # transformers 4 reads the first, transformers 5 the second.
            "rope_theta": self.rope_theta,
            "rope_parameters": {"rope_type": "default", "rope_theta": self.rope_theta},
            "attention_bias": False,
            "attention_dropout": 0.0,
            "mlp_bias": False,
            "initializer_range": 0.02,
            "tie_word_embeddings": self.tied,
            "bos_token_id": self.bos_id,
            "eos_token_id": eos[0] if eos and len(eos) == 1 else eos,
            "pad_token_id": self.pad_id,
            "torch_dtype": "float32",
            "use_cache": True,
        }


def read_json(path: Path) -> dict[str, Any]:
    """Read a checkpoint's JSON object.

    Raises:
        CheckpointError: the file is missing, unreadable or not a JSON object.
    """
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise CheckpointError(
            f"{path}: cannot read it: {error.strerror}.",
            field=str(path),
            remedy="Name a directory written by `tokenmill import` or downloaded from the hub.",
        ) from error
    except ValueError as error:
        raise CheckpointError(f"{path}: not JSON: {error}.", field=str(path)) from error
    if not isinstance(raw, dict):
        raise CheckpointError(f"{path}: holds {type(raw).__name__}, not a JSON object.", field=str(path))
    return raw


def _check(field: str, value: object, ok: bool, wanted: str) -> None:
    if not ok:
        raise CheckpointError(f"decoder config: `{field}` is {value!r}, must be {wanted}.", field=field)


def _is_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _integer(raw: Mapping[str, Any], field: str, source: str) -> int:
    value = raw.get(field)
    if not _is_int(value):
        raise CheckpointError(f"{source}: `{field}` is {value!r}, must be a positive integer.", field=field)
    return value


def _head_dim(raw: Mapping[str, Any], source: str) -> int:
    hidden, heads = _integer(raw, "hidden_size", source), _integer(raw, "num_attention_heads", source)
    if heads < 1 or hidden % heads:
        raise CheckpointError(
            f"{source}: `hidden_size` {hidden} is not a multiple of `num_attention_heads` {heads}.",
            field="head_dim",
            remedy="Give `head_dim`.",
        )
    return hidden // heads


def _ids(value: Any) -> tuple[int, ...]:
    if value is None:
        return ()
    return tuple(value) if isinstance(value, list) else (value,)


def _pad_id(value: Any) -> int | None:
    # Old converters write -1 for "none".
    return None if value == -1 else value


def _rope_theta(raw: Mapping[str, Any], source: str) -> float:
    """The rotary base; refuses every kind of scaled rotary embedding."""
    theta = raw.get("rope_theta")
    for field in ("rope_scaling", "rope_parameters"):
        rope = raw.get(field) or {}
        kind = rope.get("rope_type", rope.get("type", "default")) if isinstance(rope, dict) else rope
        if kind != "default" or rope.get("partial_rotary_factor", 1.0) != 1.0:
            raise CheckpointError(
                f"{source}: `{field}` is {rope!r}, which this decoder does not compute.",
                field=field,
                remedy="Use a checkpoint with plain rotary positions.",
            )
        theta = rope.get("rope_theta", theta)
    return 10000.0 if theta is None else theta


def _refuse_unsupported(raw: Mapping[str, Any], family: Family, source: str) -> None:
    for field, allowed in family.required.items():
        value = raw.get(field, allowed[0])
        if value not in allowed:
            raise CheckpointError(
                f"{source}: `{field}` is {value!r}; this decoder computes {family.name} with "
                f"{allowed[0]!r} only.",
                field=field,
                remedy="Use a checkpoint without it.",
            )
