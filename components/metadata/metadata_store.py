"""open_metadata: the one function that opens a metadata store."""

from __future__ import annotations

import os
import re
import socket
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ml_metadata import metadata_store

from components.metadata.connection_proto import connection_proto
from components.metadata.metadata_connection import MetadataConnection
from components.metadata.postgresql_store import PostgresqlStore
from models.contract.errors import ConfigError

_LOG_PREFIX = re.compile(r"^[IWEF]\d{4} [\d:.]+ +\d+ [\w.]+:\d+\] ")
_MISSING = re.compile(r"(?i)unknown database|database \S+ does not exist")
_PROBE_SECONDS = 3.0
_STDERR_LOCK = threading.Lock()
_REMEDIES = (
    (_MISSING, "The first run makes it, if `metadata.create_database` is on."),
    (re.compile(r"(?i)authentication|access denied"), "Correct `metadata.user` and the password."),
    (re.compile(r"(?i)permission denied"), "Grant the user the right, or make the database beforehand."),
)


def open_metadata(connection: MetadataConnection, *, readonly: bool = True) -> metadata_store.MetadataStore:
    """Open a store.

    Args:
        connection: where it is.
        readonly: a missing database is not made, and SQLite is opened for reading. A server's database
            that exists but is empty gets ML Metadata's tables all the same.

    Raises:
        ConfigError: a server cannot be reached or refuses, in the server's own words.
        RuntimeError: ML Metadata cannot read a SQLite file.
        ml_metadata.errors.StatusError: likewise.
    """
    config = connection_proto(connection, readonly=readonly)
    if connection.kind == "sqlite":
        return metadata_store.MetadataStore(config)
    store = PostgresqlStore if connection.kind == "postgresql" else metadata_store.MetadataStore
    with _native_stderr() as chatter:
        try:
            return store(config)
        except RuntimeError as error:
            raise _refused(connection, error, chatter()) from error


def open_existing(connection: MetadataConnection) -> metadata_store.MetadataStore | None:
    """Open a store for reading; None if there is no database yet.

    Raises:
        ConfigError: see `open_metadata`.
        RuntimeError: likewise.
        ml_metadata.errors.StatusError: likewise.
    """
    if connection.kind == "sqlite" and not Path(connection.path).is_file():
        return None
    try:
        return open_metadata(connection)
    except ConfigError as error:
        if is_missing(error):
            return None
        raise


def is_missing(error: ConfigError) -> bool:
    """Whether `open_metadata` failed because there is no such database yet."""
    return _MISSING.search(error.message) is not None


def _refused(connection: MetadataConnection, error: RuntimeError, chatter: str) -> ConfigError:
    reason = _unreachable(connection) or _reason(str(error), chatter)
    remedy = next(
        (text for pattern, text in _REMEDIES if pattern.search(reason)),
        "Check `metadata.host` and `metadata.port`, and that the server runs.",
    )
    return ConfigError(
        f"{connection} cannot be opened: {reason.rstrip('.')}.", field="metadata", remedy=remedy
    )


def _unreachable(connection: MetadataConnection) -> str | None:
    """Why the server's port does not answer; ML Metadata's MySQL client does not say."""
    try:
        socket.create_connection((connection.host, connection.port), _PROBE_SECONDS).close()
    except OSError as error:
        return f"no answer: {error.strerror or error}"
    return None


def _reason(error: str, chatter: str) -> str:
    """The server's own words: for PostgreSQL they stand in the log only, the exception is empty.

    `ConnectImpl` in google/ml-metadata, metadata_store/postgresql_metadata_source.cc, asks for the
    message of a connection it has just closed.
    """
    lines = [_LOG_PREFIX.sub("", line) for line in chatter.splitlines()]
    told = [
        line.removeprefix("PostgreSQL error: ").removeprefix("FATAL:").strip()
        for line in lines
        if line.startswith("PostgreSQL error: ") or " failure: " in line
    ]
    if told:
        return told[0]
    text = " ".join(error.split())
    if "mysql_real_connect failed" in text and text.endswith("error:"):
        return (
            "access denied, or the account does not use the plugin mysql_native_password, the only one "
            "that ML Metadata knows"
        )
    return text.rpartition(" error: ")[2] or "no reason given"


@contextmanager
def _native_stderr() -> Iterator[Callable[[], str]]:
    """Catch what ML Metadata's C++ writes to file descriptor 2; yields a function that reads it."""
    with _STDERR_LOCK, tempfile.TemporaryFile() as file:
        sys.stderr.flush()
        kept = os.dup(2)
        os.dup2(file.fileno(), 2)

        def read() -> str:
            file.seek(0)
            return file.read().decode("utf-8", "replace")

        try:
            yield read
        finally:
            os.dup2(kept, 2)
            os.close(kept)
