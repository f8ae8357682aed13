"""Names under which a package's variables file holds the decoder's weights."""

from __future__ import annotations

WEIGHTS_ATTRIBUTE = "weights"
"""Attribute of a package's root: decoder weight → variable."""


def variable_key(path: str) -> str:
    """Key of the decoder weight `path` in `variables/`.

    TensorFlow writes a variable under its way from the root, a slash within a name as ".S".
    """
    return f"{WEIGHTS_ATTRIBUTE}/{path.replace('/', '.S')}/.ATTRIBUTES/VARIABLE_VALUE"
