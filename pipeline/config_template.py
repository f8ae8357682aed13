"""A commented configuration: every key with its meaning, those left out as comments with their defaults."""

from __future__ import annotations

import json
import textwrap
import types
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Union, get_args, get_origin

import yaml
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from pipeline.config import RunConfig

_WIDTH = 108
_INDENT = "  "


def commented_config(values: Mapping[str, Any]) -> str:
    """YAML text of a configuration.

    Args:
        values: nested mappings of the keys to set; all others follow as comments with their defaults.
    """
    blocks = ["\n".join(_key(name, field, values, "")) for name, field in RunConfig.model_fields.items()]
    return "\n\n".join(blocks) + "\n"


def _section(model: type[BaseModel], values: Mapping[str, Any], indent: str) -> Iterator[str]:
    for name, field in model.model_fields.items():
        yield from _key(name, field, values, indent)


def _key(name: str, field: FieldInfo, values: Mapping[str, Any], indent: str) -> Iterator[str]:
    yield from _comment(field.description or "", indent)
    inner = _model(field)
    if inner is not None and _is_list(field):
        yield f"{indent}{name}:"
        for item in values.get(name, ()):
            yield from _item(inner, item, indent + _INDENT)
    elif inner is not None and (name in values or not _is_optional(field)):
        yield f"{indent}{name}:"
        yield from _section(inner, values.get(name, {}), indent + _INDENT)
    elif inner is not None:
        yield from _absent(name, inner, indent)
    elif name in values:
        yield f"{indent}{name}: {_value(values[name])}"
    elif _default(field) is PydanticUndefined:
        yield f"{indent}# {name}: (needed)"
    else:
        yield f"{indent}# {name}: {_value(_default(field))}"


def _absent(name: str, model: type[BaseModel], indent: str) -> Iterator[str]:
    """A section that is not there by default, as one block that can be uncommented as a whole."""
    yield f"{indent}# {name}:"
    for key, field in model.model_fields.items():
        yield from (f"{indent}#   {line}" for line in _comment(field.description or "", ""))
        inner = None if _is_optional(field) else _model(field)
        value = _default(field)
        if inner is not None and isinstance(value, BaseModel):
            yield from (f"{indent}#   {line.removeprefix('# ')}" for line in _absent(key, inner, ""))
        else:
            yield f"{indent}#   {key}: {'(needed)' if value is PydanticUndefined else _value(value)}"


def _item(model: type[BaseModel], values: Mapping[str, Any], indent: str) -> Iterator[str]:
    """One entry of a list of sections; its dash stands before the first key that is set."""
    lines = list(_section(model, values, indent + _INDENT))
    first = next(place for place, line in enumerate(lines) if not line.lstrip().startswith("#"))
    lines[first] = f"{indent}- {lines[first].lstrip()}"
    yield from lines


def _comment(text: str, indent: str) -> Iterator[str]:
    for line in textwrap.wrap(" ".join(text.split()), _WIDTH - len(indent)):
        yield f"{indent}# {line}"


def _default(field: FieldInfo) -> Any:
    if field.default_factory is None:
        return field.default
    try:
        return field.get_default(call_default_factory=True, validated_data={})
    except KeyError:  # It depends on other keys.
        return None


def _value(value: Any) -> str:
    if isinstance(value, str):
        return str(yaml.safe_dump(value, default_flow_style=True, width=10**6)).removesuffix("...\n").strip()
    if isinstance(value, Mapping | Sequence):
        return json.dumps(value, ensure_ascii=False)
    if value is None or isinstance(value, bool | int | float):
        return json.dumps(value)
    return _value(str(value))


def _kinds(annotation: Any) -> list[Any]:
    if get_origin(annotation) is Annotated:
        return _kinds(get_args(annotation)[0])
    if get_origin(annotation) in (Union, types.UnionType):
        return [kind for arg in get_args(annotation) for kind in _kinds(arg)]
    return [annotation]


def _model(field: FieldInfo) -> type[BaseModel] | None:
    """The section at a key, or that of a list's entries."""
    for kind in _kinds(field.annotation):
        for part in (kind, *(get_args(kind) if get_origin(kind) in (tuple, list) else ())):
            if isinstance(part, type) and issubclass(part, BaseModel):
                return part
    return None


def _is_list(field: FieldInfo) -> bool:
    return any(get_origin(kind) in (tuple, list) for kind in _kinds(field.annotation))


def _is_optional(field: FieldInfo) -> bool:
    return type(None) in _kinds(field.annotation)
