"""The families this version knows, and which one a config names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from models.contract.errors import CheckpointError
from models.families.family import Family
from models.families.llama import LLAMA

FAMILIES: dict[str, Family] = {LLAMA.name: LLAMA}


def family_of(raw: Mapping[str, Any], source: str = "config.json") -> Family:
    """The family of a Hugging Face config.

    Raises:
        CheckpointError: the architecture is unknown, or `architectures` and `model_type` disagree.
    """
    architectures = raw.get("architectures") or []
    name = raw.get("model_type")
    for family in FAMILIES.values():
        if name == family.name and list(architectures) in ([], [family.architecture]):
            return family
    known = ", ".join(f"{family.architecture} ({family.name})" for family in FAMILIES.values())
    raise CheckpointError(
        f"{source}: `architectures` is {architectures!r} and `model_type` is {name!r}, "
        "which this version cannot compute.",
        field="architectures",
        remedy=f"Use a checkpoint of {known}.",
    )
