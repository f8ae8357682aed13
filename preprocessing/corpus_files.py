"""Listing of a corpus: which files it has, before any of them is read."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from models.contract.errors import DataError
from preprocessing.corpus_source import CorpusSource
from preprocessing.glob_filter import GlobFilter


@dataclass(frozen=True, slots=True, order=True)
class CorpusFile:
    """One file of a corpus.

    Args:
        source: name of its source.
        path: relative to the source's folder, `/` between parts.
        location: where it lies.
        size: bytes.
        modified: time of its last change, in nanoseconds.
    """

    source: str
    path: str
    location: str
    size: int
    modified: int


def list_files(sources: Sequence[CorpusSource]) -> list[CorpusFile]:
    """Every file of the sources, in the order of the sources, then of the paths.

    Links to folders are not followed.

    Raises:
        DataError: a source does not exist, cannot be listed or has no matching file.
    """
    return [file for source in sources for file in _list_source(source)]


def fingerprint(files: Sequence[CorpusFile]) -> str:
    """Hash of names, sizes and times: changes whenever a file is added, removed or written."""
    digest = hashlib.sha256()
    for file in files:
        digest.update(
            f"{file.source}\0{file.path}\0{file.size}\0{file.modified}\n".encode("utf-8", "replace")
        )
    return digest.hexdigest()


def _list_source(source: CorpusSource) -> list[CorpusFile]:
    root = source.root
    if not root.exists():
        raise DataError(
            f"corpus source {source.name!r}: {root} does not exist.",
            field=str(root),
            remedy="Correct the source's `path` in the configuration.",
        )
    if root.is_file():
        return [_describe(source.name, root.name, root)]
    matches = GlobFilter(source.include, source.exclude)
    found = [_describe(source.name, path, root / path) for path in _walk(root, matches) if matches(path)]
    if not found:
        raise DataError(
            f"corpus source {source.name!r}: no file below {root} matches include {list(source.include)} "
            f"and exclude {list(source.exclude)}.",
            field=str(root),
            remedy="Put text files there or widen the globs ('**/*.py' reaches all depths, '*.py' only the "
            "folder itself).",
        )
    return sorted(found, key=lambda file: file.path)


def _walk(root: Path, matches: GlobFilter) -> Iterator[str]:
    for folder, subfolders, names in os.walk(root, onerror=_cannot_list):
        relative = Path(folder).relative_to(root).as_posix()
        prefix = "" if relative == "." else f"{relative}/"
        subfolders[:] = [name for name in subfolders if not matches.prunes(prefix + name)]
        yield from (prefix + name for name in names if os.path.isfile(os.path.join(folder, name)))


def _describe(source: str, path: str, location: Path) -> CorpusFile:
    status = location.stat()
    return CorpusFile(source, path, str(location), status.st_size, status.st_mtime_ns)


def _cannot_list(error: OSError) -> None:
    raise DataError(
        f"corpus folder {error.filename} cannot be listed: {error.strerror}.",
        field=error.filename,
        remedy="Give read permission or exclude the folder.",
    ) from error
