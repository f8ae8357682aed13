"""Listing of a corpus: which files it has, before any of them is read."""

from __future__ import annotations

import hashlib
import logging
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from models.contract.errors import DataError
from preprocessing.corpus_format import FileFormat
from preprocessing.corpus_options import check_options
from preprocessing.corpus_source import CorpusSource
from preprocessing.glob_filter import GlobFilter
from preprocessing.span_paths import SpanPath, find_spans
from preprocessing.span_window import SpanWindow

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, order=True)
class CorpusFile:
    """One file of a corpus.

    Args:
        source: name of its source.
        path: relative to the source's folder, `/` between parts; of a source with spans from the first
            part on that tells the span.
        location: where it lies.
        size: bytes.
        modified: time of its last change, in nanoseconds.
        format: how it is read.
        span: number of its span, or None.
        prefix: the part of the path that tells the span; groups do not depend on it.
    """

    source: str
    path: str
    location: str
    size: int
    modified: int
    format: FileFormat = "text"
    span: int | None = None
    prefix: str = ""


def list_files(sources: Sequence[CorpusSource], spans: SpanWindow | None = None) -> list[CorpusFile]:
    """Every file of the sources, in the order of the sources, then of spans and paths.

    Links to folders are not followed; a warning names them.

    Args:
        sources: the corpus.
        spans: which spans of those sources that have some; the newest by default.

    Raises:
        DataError: a source does not exist, cannot be listed, has no matching file or none of the spans, an
            end of the window is not there, or a source has options or files that do not fit its format.
    """
    window = spans or SpanWindow()
    found = {source.name: find_spans(str(source.root)) for source in sources if source.has_spans}
    there = {one.span for paths in found.values() for one in paths}
    chosen = set(window.choose(there))
    files: list[CorpusFile] = []
    for source in sources:
        if source.has_spans:
            wanted = [one for one in found[source.name] if one.span in chosen]
            if not wanted:
                raise _no_span(source, found[source.name], window, chosen)
            listed = [file for one in wanted for file in _list_span(source, one)]
        else:
            listed = _list_source(source)
        check_options(source, [(file.location, file.format) for file in listed])
        files += listed
    if there and (absent := window.absent(there)):
        raise DataError(
            f"`corpus.spans` asks for {window}, but there is no span {' and no span '.join(map(str, absent))}"
            f"; the newest there are {sorted(there)[-20:]}.",
            field="corpus.spans",
            remedy="Wait for it, or give `first` and `last` as spans that are there.",
        )
    return files


def spans_left_out(sources: Sequence[CorpusSource], files: Sequence[CorpusFile]) -> list[int]:
    """Spans that are there but that no file of a listing belongs to, ascending."""
    there = {one.span for source in sources if source.has_spans for one in find_spans(str(source.root))}
    return sorted(there - {file.span for file in files if file.span is not None})


def spans_missing(sources: Sequence[CorpusSource], spans: SpanWindow) -> dict[str, list[int]]:
    """Source → spans that were asked for, or that another source has, and that it lacks, at most 100."""
    found = {
        source.name: {one.span for one in find_spans(str(source.root))}
        for source in sources
        if source.has_spans
    }
    asked = spans.asked(set().union(*found.values()))
    lacking = {name: [span for span in asked if span not in there] for name, there in found.items()}
    return {name: missing[:100] for name, missing in lacking.items() if missing}


def fingerprint(files: Sequence[CorpusFile]) -> str:
    """Hash of names, sizes and times: changes whenever a file is added, removed or written."""
    digest = hashlib.sha256()
    for file in files:
        digest.update(
            f"{file.source}\0{file.path}\0{file.size}\0{file.modified}\n".encode("utf-8", "surrogateescape")
        )
    return digest.hexdigest()


def _list_span(source: CorpusSource, one: SpanPath) -> list[CorpusFile]:
    if one.root.is_file():
        return [_describe(source, one.prefix, one.root, one)]
    found = _list_folder(source, one.root, one)
    return found or _nothing_matches(source, one.root)


def _list_source(source: CorpusSource) -> list[CorpusFile]:
    root = source.root
    if not root.exists():
        raise DataError(
            f"corpus source {source.name!r}: {root} does not exist.",
            field=str(root),
            remedy="Correct the source's `path` in the configuration.",
        )
    if root.is_file():
        return [_describe(source, root.name, root)]
    return _list_folder(source, root) or _nothing_matches(source, root)


def _list_folder(source: CorpusSource, root: Path, span: SpanPath | None = None) -> list[CorpusFile]:
    matches = GlobFilter(source.include, source.exclude)
    prefix = "" if span is None else f"{span.prefix}/"
    found = [
        _describe(source, prefix + path, root / path, span) for path in _walk(root, matches) if matches(path)
    ]
    return sorted(found, key=lambda file: file.path)


def _nothing_matches(source: CorpusSource, root: Path) -> NoReturn:
    raise DataError(
        f"corpus source {source.name!r}: no file below {root} matches include {list(source.include)} "
        f"and exclude {list(source.exclude)}.",
        field=str(root),
        remedy="Put text files there or widen the globs ('**/*.py' reaches all depths, '*.py' only the "
        "folder itself).",
    )


def _walk(root: Path, matches: GlobFilter) -> Iterator[str]:
    for folder, subfolders, names in os.walk(root, onerror=_cannot_list):
        relative = Path(folder).relative_to(root).as_posix()
        prefix = "" if relative == "." else f"{relative}/"
        subfolders[:] = [name for name in subfolders if not matches.prunes(prefix + name)]
        for name in filter(lambda name: os.path.islink(os.path.join(folder, name)), subfolders):
            _log.warning("corpus folder %s is a link, which is not followed.", os.path.join(folder, name))
        yield from (prefix + name for name in names if os.path.isfile(os.path.join(folder, name)))


def _describe(source: CorpusSource, path: str, location: Path, span: SpanPath | None = None) -> CorpusFile:
    status = location.stat()
    return CorpusFile(
        source.name,
        path,
        str(location),
        status.st_size,
        status.st_mtime_ns,
        source.format_of(location.name),
        None if span is None else span.span,
        "" if span is None or location == span.root else f"{span.prefix}/",
    )


def _no_span(
    source: CorpusSource, there: Sequence[SpanPath], window: SpanWindow, chosen: set[int]
) -> DataError:
    if not there:
        return DataError(
            f"corpus source {source.name!r}: nothing lies at {source.root}.",
            field=str(source.root),
            remedy="Correct the source's `path`, e.g. data/span-{SPAN} for data/span-1 and data/span-2.",
        )
    return DataError(
        f"corpus source {source.name!r} has none of {window} ({sorted(chosen) or 'none there'}); it has "
        f"spans {[one.span for one in there][-20:]}.",
        field="corpus.spans",
        remedy="Wait for its span, or change `corpus.spans` so that every source has one in it.",
    )


def _cannot_list(error: OSError) -> None:
    raise DataError(
        f"corpus folder {error.filename} cannot be listed: {error.strerror}.",
        field=error.filename,
        remedy="Give read permission or exclude the folder.",
    ) from error
