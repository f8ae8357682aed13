"""Faults of a configuration in words: the key, the value received, and what it should be."""

from __future__ import annotations

import difflib
import types
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError

_SHOULD_BE = {
    "model_type": "it should be a section: keys with values",
    "model_attributes_type": "it should be a section: keys with values",
    "dict_type": "it should be a section: keys with values",
    "mapping_type": "it should be a section: keys with values",
    "tuple_type": "it should be a list",
    "list_type": "it should be a list",
    "string_type": "it should be text; put it in quotes",
    "path_type": "it should be a path",
    "union_tag_not_found": "it lacks the key that tells its kind",
}
_LONGEST_VALUE = 120


def describe(error: ValidationError, root: type[BaseModel]) -> str:
    """One sentence per fault.

    Args:
        error: pydantic's.
        root: the model that was validated; its fields tell keys of the file from pydantic's own marks.
    """
    found: dict[tuple[int | str, ...], list[dict[str, Any]]] = {}
    for raw in error.errors():
        fault = dict(raw)
        if fault["type"] == "default_factory_not_called":
            continue  # The default depends on a key that has a fault itself.
        found.setdefault(_key_path(fault["loc"], root), []).append(fault)
    # What a union's other members say of the whole is noise beside a fault found inside of it.
    within = {path[:depth] for path in found for depth in range(len(path))}
    told = {path: faults for path, faults in found.items() if path not in within or not _of_union(faults)}
    return " ".join(_sentence(path, faults, root) for path, faults in told.items())


def _of_union(faults: Sequence[Mapping[str, Any]]) -> bool:
    return all(fault["type"] not in ("extra_forbidden", "missing", "value_error") for fault in faults)


def _sentence(path: tuple[int | str, ...], faults: Sequence[Mapping[str, Any]], root: type[BaseModel]) -> str:
    key = ".".join(str(part) for part in path) or "the whole"
    first = faults[0]
    if first["type"] == "extra_forbidden":
        known = _known_keys(root, path[:-1])
        near = difflib.get_close_matches(str(path[-1]), known, n=1, cutoff=0.5)
        hint = f"did you mean `{near[0]}`?" if near else f"known keys: {', '.join(known)}."
        return f"`{key}` is an unknown key; {hint}"
    if first["type"] == "missing":
        meant = _description(root, path)
        return f"`{key}` is missing{f' ({meant})' if meant else ''}."
    if first["type"] == "value_error":
        return f"`{key}`: {_message(first).rstrip('.')}."
    wanted = list(dict.fromkeys(_message(fault).rstrip(".") for fault in faults))
    return f"`{key}` is {_shown(first['input'])}: {', or '.join(wanted)}.{_near_value(first)}"


def _message(fault: Mapping[str, Any]) -> str:
    text = _SHOULD_BE.get(fault["type"]) or str(fault["msg"]).removeprefix("Value error, ")
    return text if fault["type"] == "value_error" else text[0].lower() + text[1:]


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]} …"


def _near_value(fault: Mapping[str, Any]) -> str:
    """Of a misspelt choice: the one that was probably meant."""
    expected = str(fault.get("ctx", {}).get("expected", ""))
    if fault["type"] != "literal_error" or not isinstance(fault["input"], str):
        return ""
    choices = [part.strip("'") for part in expected.replace(" or ", ", ").split(", ")]
    near = difflib.get_close_matches(fault["input"], choices, n=1, cutoff=0.6)
    return f" Did you mean '{near[0]}'?" if near else ""


def _key_path(location: Iterable[int | str], root: type[BaseModel]) -> tuple[int | str, ...]:
    """A fault's location without the marks of union members that pydantic puts into it."""
    kinds: list[Any] = [root]
    path: list[int | str] = []
    for part in location:
        inner = _step(kinds, part)
        if inner is not None:
            path.append(part)
            kinds = inner
        elif not _is_mark(part, kinds):
            path.append(part)
            kinds = []
    return tuple(path)


def _is_mark(part: int | str, kinds: Sequence[Any]) -> bool:
    """Whether it names a member of a union, not a key: where all is a section, a strange name is a key."""
    plain = [kind for kind in kinds if kind is not type(None)]
    return isinstance(part, str) and (len(plain) > 1 or not all(_is_model(kind) for kind in plain))


def _step(kinds: Sequence[Any], part: int | str) -> list[Any] | None:
    """What lies at a key or position of values of these kinds; None if none of them has it."""
    found: list[Any] = []
    for kind in kinds:
        if _is_model(kind) and part in kind.model_fields:
            found += _kinds(kind.model_fields[part].annotation)
        elif isinstance(part, int) and get_origin(kind) in (tuple, list):
            found += [inner for arg in get_args(kind) if arg is not ... for inner in _kinds(arg)]
        elif isinstance(part, str) and _is_mapping(kind) and part != "[key]":
            found += _kinds(get_args(kind)[1])
    return found or None


def _kinds(annotation: Any) -> list[Any]:
    """Members of a union, without `Annotated`."""
    if get_origin(annotation) is Annotated:
        return _kinds(get_args(annotation)[0])
    if get_origin(annotation) in (Union, types.UnionType):
        return [kind for arg in get_args(annotation) for kind in _kinds(arg)]
    return [annotation]


def _is_model(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)


def _is_mapping(kind: Any) -> bool:
    origin = get_origin(kind)
    return isinstance(origin, type) and issubclass(origin, Mapping)


def _models_at(root: type[BaseModel], path: Iterable[int | str]) -> list[type[BaseModel]]:
    kinds: list[Any] = [root]
    for part in path:
        kinds = _step(kinds, part) or []
    return [kind for kind in kinds if _is_model(kind)]


def _known_keys(root: type[BaseModel], path: Iterable[int | str]) -> list[str]:
    return sorted({key for model in _models_at(root, path) for key in model.model_fields})


def _description(root: type[BaseModel], path: Sequence[int | str]) -> str:
    fields = [model.model_fields.get(str(path[-1])) for model in _models_at(root, path[:-1])]
    texts = [field.description for field in fields if field is not None and field.description]
    return texts[0].rstrip(".") if texts else ""


def without_empty_sections(raw: Any, model: type[BaseModel]) -> Any:
    """A mapping without the keys that hold nothing and may not hold nothing.

    A section whose lines are all commented out is None to YAML: it means its defaults.
    """
    if not isinstance(raw, Mapping):
        return raw
    kept = {}
    for key, value in raw.items():
        field = model.model_fields.get(key) if isinstance(key, str) else None
        kinds = _kinds(field.annotation) if field else []
        if value is None and field is not None and type(None) not in kinds:
            continue
        models = [kind for kind in kinds if _is_model(kind)]
        kept[key] = without_empty_sections(value, models[0]) if len(models) == 1 else value
    return kept
