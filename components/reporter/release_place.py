"""How the release commands are told which model is meant, wherever they are typed."""

from __future__ import annotations

import shlex
from pathlib import Path


def release_place(version: Path) -> str:
    """Arguments of `tokenmill canary`, `promote` and `rollback` for the model of a pushed version.

    Args:
        version: `<push directory>/<model>/<version>`.
    """
    base = version.parent
    return f"{shlex.quote(base.name)} --directory {shlex.quote(str(base.parent))}"
