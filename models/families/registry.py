"""The families this version knows, and which one a config names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from models.contract.errors import CheckpointError
from models.families.family import Family
from models.families.gpt2 import GPT2
from models.families.llama import LLAMA
from models.families.mistral import MISTRAL
from models.families.qwen2 import QWEN2

FAMILIES: dict[str, Family] = {family.name: family for family in (LLAMA, GPT2, MISTRAL, QWEN2)}


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
