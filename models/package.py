"""The content hash of a model package."""

from __future__ import annotations

import hashlib
from pathlib import Path

from models.contract.errors import PackageError
from models.contract.manifest import MANIFEST_PATH, Manifest

_CHUNK = 2**20


def content_hash(package: Path) -> str:
    """Sha256, in hex, over names, sizes and bytes of all files of a package but its manifest.

    Args:
        package: version directory; files are taken in the order of their relative POSIX paths.
    """
    files = {path.relative_to(package).as_posix(): path for path in package.rglob("*") if path.is_file()}
    files.pop(MANIFEST_PATH.as_posix(), None)
    digest = hashlib.sha256()
    for name in sorted(files):
        digest.update(f"{name}\0{files[name].stat().st_size}\0".encode())
        with files[name].open("rb") as file:
            while chunk := file.read(_CHUNK):
                digest.update(chunk)
    return digest.hexdigest()


def verify_content(package: Path, manifest: Manifest) -> None:
    """Check that a package's files are those its manifest was written for.

    Raises:
        PackageError: a file was changed, added or lost.
    """
    found = content_hash(package)
    if found != manifest.content_hash:
        raise PackageError(
            f"{package}: its files hash to {found[:12]}…, the manifest says {manifest.content_hash[:12]}….",
            field="content_hash",
            remedy="Copy or export the package again.",
        )
