"""Where the blessing of a package comes from, as far as it can be told from what lies beside it."""

from __future__ import annotations

from pathlib import Path

from models.contract.errors import PackageError
from models.contract.manifest import Manifest
from models.contract.release_log import RELEASES_FILE, ReleaseLog

OWN_WORD = "blessed by its own word only"
"""Part of the reason of a push whose package alone told of a blessing."""


def blessing_origin(version: Path, manifest: Manifest) -> str | None:
    """The release log that recorded the blessing, in words; None if only the package's own manifest tells it.

    A manifest is not covered by the content hash: anybody can write a blessing into one. The log of the
    push directory that the package lies in is written by pushes; one that took a package's own word for
    it says so, and counts for nothing here.

    Args:
        version: version directory.
        manifest: of that version.
    """
    try:
        recorded = ReleaseLog.load(version.parent).versions
    except PackageError:
        return None
    record = recorded.get(int(version.name)) if version.name.isdecimal() else None
    if record is None or record.action != "push" or OWN_WORD in record.reason:
        return None
    same = record.blessed and record.content_hash == manifest.content_hash
    return f"recorded in {version.parent / RELEASES_FILE}" if same else None
