"""Where model packages lie: `<base>/<version:int>/`; pure path logic."""

from __future__ import annotations

from pathlib import Path

from models.contract.errors import PackageError
from models.contract.manifest import MANIFEST_PATH


def versions(base: Path) -> list[int]:
    """Version numbers of the complete packages under a base directory, ascending."""
    if not base.is_dir():
        return []
    return sorted(
        int(entry.name)
        for entry in base.iterdir()
        if entry.name.isdecimal() and (entry / MANIFEST_PATH).is_file()
    )


def resolve_package(path: Path) -> Path:
    """A version directory: `path` itself, or the newest version below it.

    Raises:
        PackageError: `path` does not exist or holds no package.
    """
    if (path / MANIFEST_PATH).is_file():
        return path
    if not path.exists():
        raise PackageError(
            f"package {path} does not exist.",
            field=str(path),
            remedy="Make one with `make quick`, `tokenmill run` or `tokenmill export`.",
        )
    found = versions(path)
    if not found:
        raise PackageError(
            f"{path} holds no model package (no version directory with {MANIFEST_PATH}).",
            field=str(path),
            remedy="Name a version directory or the folder above the version directories.",
        )
    return path / str(found[-1])
