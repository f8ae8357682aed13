"""What the fields of a Hugging Face config mean, by the family's description; no values are checked
here that `DecoderConfig` checks itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from models.contract.errors import CheckpointError
from models.families.family import Family

DEFAULT_ROPE_THETA = 10000.0


def read_sizes(raw: Mapping[str, Any], family: Family, source: str) -> dict[str, int]:
    """Sizes of a DecoderConfig by our names.

    Args:
        raw: the parsed config.json with the family's defaults for absent fields.
        family: of the config.
        source: the file's name for messages.

    Raises:
        CheckpointError: a size is missing or no integer.
    """
    found = {ours: raw.get(theirs) for ours, theirs in family.sizes.items()}
    hidden, heads = (integer(raw, family.sizes[name], source) for name in ("hidden_size", "num_heads"))
    if found.get("num_kv_heads") is None:
        found["num_kv_heads"] = heads
    if found.get("head_dim") is None:
        found["head_dim"] = _head_dim(hidden, heads, family, source)
    if found["intermediate_size"] is None and family.mlp_ratio is not None:
        found["intermediate_size"] = family.mlp_ratio * hidden
    return {
        ours: integer({family.sizes.get(ours, ours): value}, family.sizes.get(ours, ours), source)
        for ours, value in found.items()
    }


def integer(raw: Mapping[str, Any], field: str, source: str) -> int:
    """A field that must be an integer.

    Raises:
        CheckpointError: it is none.
    """
    value = raw.get(field)
    if not isinstance(value, int) or isinstance(value, bool):
        raise CheckpointError(f"{source}: `{field}` is {value!r}, must be a positive integer.", field=field)
    return value


def _head_dim(hidden: int, heads: int, family: Family, source: str) -> int:
    if heads < 1 or hidden % heads:
        names = family.sizes
        raise CheckpointError(
            f"{source}: `{names['hidden_size']}` {hidden} is not a multiple of "
            f"`{names['num_heads']}` {heads}.",
            field="head_dim",
            remedy="Give `head_dim`." if "head_dim" in names else "Correct one of them.",
        )
    return hidden // heads


def read_window(raw: Mapping[str, Any], family: Family, layers: int, source: str) -> dict[str, int | None]:
    """`sliding_window` and `first_window_layer` of a DecoderConfig.

    Raises:
        CheckpointError: the first layer is no integer, or `layer_types` contradicts the other fields.
    """
    fields, window, first = family.windows, None, 0
    if fields is not None and (fields.switch is None or raw.get(fields.switch)):
        window = raw.get(fields.size)
        first = 0 if fields.first_layer is None else integer(raw, fields.first_layer, source)
    if window is None or first >= layers:
        window, first = None, 0
    _check_layer_types(raw, [window is not None and layer >= first for layer in range(layers)], source)
    return {"sliding_window": window, "first_window_layer": first}


def _check_layer_types(raw: Mapping[str, Any], windowed: list[bool], source: str) -> None:
    found = raw.get("layer_types")
    wanted = ["sliding_attention" if inside else "full_attention" for inside in windowed]
    if found is not None and found != wanted:
        raise CheckpointError(
            f"{source}: `layer_types` is {found!r}, by the other fields it would be {wanted!r}.",
            field="layer_types",
            remedy="Use a checkpoint whose layers with a window are the last ones.",
        )


def written_window(family: Family, window: int | None, first: int, layers: int) -> dict[str, Any]:
    """The fields that `read_window` reads back."""
    fields = family.windows
    if fields is None:
        return {}
    written: dict[str, Any] = {fields.size: window}
    if fields.switch is not None:
        written[fields.switch] = window is not None
    if fields.first_layer is not None:
        written[fields.first_layer] = layers if window is None else first
    return written


def read_rope_theta(raw: Mapping[str, Any], family: Family, source: str) -> float:
    """The rotary base.

    Raises:
        CheckpointError: some kind of scaled rotary embedding is asked for.
    """
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
    return DEFAULT_ROPE_THETA if theta is None or family.parts.positions != "rotary" else theta


def written_rope_theta(family: Family, theta: float) -> dict[str, Any]:
    """The fields that `read_rope_theta` reads back."""
    if family.parts.positions != "rotary":
        return {}
    # transformers 4 reads the first, transformers 5 the second.
    return {"rope_theta": theta, "rope_parameters": {"rope_type": "default", "rope_theta": theta}}


def read_ids(value: Any) -> tuple[int, ...]:
    """End ids: one, a list of them or none."""
    if value is None:
        return ()
    return tuple(value) if isinstance(value, list) else (value,)


def read_pad_id(value: Any) -> int | None:
    """The padding id; old converters write -1 for "none"."""
    return None if value == -1 else value


def refuse_unsupported(raw: Mapping[str, Any], family: Family, source: str) -> None:
    """Check the fields that decide the computation.

    Raises:
        CheckpointError: one has a value that the decoder does not compute.
    """
    for field, allowed in family.required.items():
        value = raw.get(field, allowed[0])
        if value not in allowed:
            raise CheckpointError(
                f"{source}: `{field}` is {value!r}; this decoder computes {family.name} with "
                f"{allowed[0]!r} only.",
                field=field,
                remedy="Use a checkpoint without it.",
            )
