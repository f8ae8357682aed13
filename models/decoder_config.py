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
from models.decoder_shapes import decoder_shapes
from models.families.family import LLAMA_SIZES
from models.families.parts import Parts
from models.families.registry import FAMILIES, family_of
from models.hf_config_fields import (
    DEFAULT_ROPE_THETA,
    read_ids,
    read_pad_id,
    read_rope_theta,
    read_sizes,
    read_window,
    refuse_unsupported,
    written_rope_theta,
    written_window,
)

_SIZES = tuple(LLAMA_SIZES)
"""Our fields that are sizes."""


@dataclass(frozen=True, slots=True)
class DecoderConfig:
    """Sizes and constants of one decoder; immutable, validated on construction.

    Args:
        vocab_size: ids, V.
        hidden_size: width of the residual stream, E.
        intermediate_size: width of the MLP.
        num_layers: blocks.
        num_heads: query heads, H.
        num_kv_heads: key and value heads, Hkv; divides H.
        head_dim: width of a head, D; even with rotary positions.
        max_length: longest sequence the model was made for, in tokens; rows of a learned position table.
        rope_theta: base of the rotary frequencies.
        norm_eps: added to the mean square or variance in a norm.
        tied: whether the head is the embedding.
        bos_id: begin-of-sequence id or None.
        eos_ids: ids that end an answer.
        pad_id: padding id of the checkpoint or None; kept for others, never used.
        family: name of a family in `models.families.registry`.
        sliding_window: tokens that a position sees in a layer with a window, itself counted; None: all.
        first_window_layer: number of the first layer with a window.

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
    rope_theta: float = DEFAULT_ROPE_THETA
    norm_eps: float = 1e-5
    tied: bool = True
    bos_id: int | None = None
    eos_ids: tuple[int, ...] = ()
    pad_id: int | None = None
    family: str = "llama"
    sliding_window: int | None = None
    first_window_layer: int = 0

    def __post_init__(self) -> None:
        for name in _SIZES:
            value = getattr(self, name)
            _check(name, value, _is_int(value) and value >= 1, "a positive integer")
        for name in ("rope_theta", "norm_eps"):
            value = getattr(self, name)
            number = isinstance(value, int | float) and not isinstance(value, bool)
            _check(name, value, number and math.isfinite(value) and value > 0, "a positive number")
        _check("family", self.family, self.family in FAMILIES, f"one of {sorted(FAMILIES)}")
        self._check_heads()
        self._check_window()
        for value in (self.bos_id, self.pad_id, *self.eos_ids):
            ok = value is None or (_is_int(value) and 0 <= value < self.vocab_size)
            _check("special token id", value, ok, f"an id below vocab_size ({self.vocab_size})")

    def _check_heads(self) -> None:
        heads, sizes = self.num_heads, FAMILIES[self.family].sizes
        _check("num_kv_heads", self.num_kv_heads, heads % self.num_kv_heads == 0, "a divisor of num_heads")
        if "num_kv_heads" not in sizes:
            _check("num_kv_heads", self.num_kv_heads, self.num_kv_heads == heads, f"num_heads ({heads})")
        if "head_dim" not in sizes:
            fits = self.head_dim * heads == self.hidden_size
            _check("head_dim", self.head_dim, fits, f"hidden_size ({self.hidden_size}) over num_heads")
        if self.parts.positions == "rotary":
            _check("head_dim", self.head_dim, self.head_dim % 2 == 0, "even")

    def _check_window(self) -> None:
        window, first = self.sliding_window, self.first_window_layer
        _check("first_window_layer", first, _is_int(first) and first >= 0, "a number from 0 on")
        if window is not None:
            _check("sliding_window", window, _is_int(window) and window >= 1, "a positive integer or none")
            known = FAMILIES[self.family].windows is not None
            _check("sliding_window", window, known, f"none: the family {self.family} has no windows")

    @property
    def parts(self) -> Parts:
        """The pieces of the network that the family chooses."""
        return FAMILIES[self.family].parts

    @property
    def windows(self) -> tuple[int | None, ...]:
        """Per layer the tokens that a position sees, itself counted; None: all before it."""
        return tuple(
            self.sliding_window if layer >= self.first_window_layer else None
            for layer in range(self.num_layers)
        )

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
        return sum(math.prod(shape) for shape in decoder_shapes(self).values())

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
        refuse_unsupported(raw, family, source)
        raw = {**family.defaults, **raw}
        sizes = read_sizes(raw, family, source)
        return cls(
            **sizes,
            **read_window(raw, family, sizes["num_layers"], source),
            rope_theta=read_rope_theta(raw, family, source),
            norm_eps=raw.get(family.norm_eps, 1e-6),
            tied=bool(raw.get("tie_word_embeddings", False)),
            bos_id=raw.get("bos_token_id"),
            eos_ids=read_ids(raw.get("eos_token_id")),
            pad_id=read_pad_id(raw.get("pad_token_id")),
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
            ids = read_ids(read_json(generation).get("eos_token_id"))
            config = config.with_end_ids(ids) if ids else config
        return config

    def to_hf(self) -> dict[str, Any]:
        """The config.json that transformers 4 and 5 read."""
        family, eos = FAMILIES[self.family], list(self.eos_ids)
        return {
            "architectures": [family.architecture],
            "model_type": family.name,
            **{theirs: getattr(self, ours) for ours, theirs in family.sizes.items()},
            **family.constants,
            family.norm_eps: self.norm_eps,
            **written_rope_theta(family, self.rope_theta),
            **written_window(family, self.sliding_window, self.first_window_layer, self.num_layers),
            "initializer_range": 0.02,
            "tie_word_embeddings": self.tied,
            "bos_token_id": self.bos_id,
            "eos_token_id": eos[0] if len(eos) == 1 else eos or None,
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
