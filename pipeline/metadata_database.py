"""The metadata store of a working directory: where it is and whether it can be read, in words."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

from components.metadata.metadata_connection import DATABASE_FILE, MetadataConnection
from models.contract.errors import ConfigError

CONNECTION_FILE = "metadata.json"


def remember_connection(workdir: Path, connection: MetadataConnection) -> None:
    """Leave word in the working directory of the store its runs use; the password is not part of it."""
    temporary = workdir / f"{CONNECTION_FILE}.{os.getpid()}"
    temporary.write_text(connection.to_json() + "\n", encoding="utf-8")
    temporary.replace(workdir / CONNECTION_FILE)


def connection_of(workdir: Path) -> MetadataConnection:
    """The store that the newest run of a working directory used; its SQLite file by default.

    Raises:
        ConfigError: what was left there is not readable.
    """
    file = workdir / CONNECTION_FILE
    try:
        found = MetadataConnection.from_json(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return MetadataConnection.sqlite(workdir / DATABASE_FILE)
    except (OSError, UnicodeDecodeError, ConfigError) as error:
        raise ConfigError(
            f"{file} is not what a run writes: {error}",
            field=str(file),
            remedy="Remove it, and name the configuration with --config.",
        ) from error
    # A working directory may have been moved, with its SQLite file.
    return found if found.kind != "sqlite" else MetadataConnection.sqlite(workdir / DATABASE_FILE)


def check_database(connection: MetadataConnection) -> None:
    """Check that a store can be read; a missing one is fine, the first run makes it.

    Of a SQLite file the structure is checked; one that another process is writing passes.

    Raises:
        ConfigError: the file is damaged or no SQLite database; a server cannot be reached or refuses.
    """
    if connection.kind == "sqlite":
        _check_file(Path(connection.path))
        return
    # Imported here: ML Metadata is of no use to those who only ask where a store is.
    from components.metadata.metadata_store import is_missing, open_metadata

    try:
        open_metadata(connection)
    except ConfigError as error:
        if not (is_missing(error) and connection.create_database):
            raise


def _check_file(database: Path) -> None:
    if not database.exists():
        return
    _roll_back(database)
    try:
        with closing(sqlite3.connect(f"{database.resolve().as_uri()}?mode=ro", uri=True)) as connection:
            found = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
    except sqlite3.Error as error:
        if "locked" in str(error):
            return
        raise unreadable_database(MetadataConnection.sqlite(database), str(error)) from error
    if found != "ok":
        raise unreadable_database(MetadataConnection.sqlite(database), str(found).splitlines()[-1])


def _roll_back(database: Path) -> None:
    """Undo what a killed process has half written; SQLite refuses to while it may only read."""
    if not Path(f"{database}-journal").exists():
        return
    address = f"{database.resolve().as_uri()}?mode=rw"
    with suppress(sqlite3.Error), closing(sqlite3.connect(address, uri=True)) as connection:
        connection.execute("SELECT count(*) FROM sqlite_master")


def unreadable_database(connection: MetadataConnection, reason: str) -> ConfigError:
    """The error for a store that cannot be read, because it is damaged or being written."""
    remedy = "Try again; if it stays so, look into the server's log."
    if connection.kind == "sqlite":
        remedy = (
            "Restore it from a copy, or move it away: runs and caches are then recorded anew, pushed "
            "packages and the runs' logs stay."
        )
    if "locked" in reason:
        remedy = "A run is writing it: try again in a moment."
    return ConfigError(f"{connection} cannot be read: {reason.rstrip('.')}.", field="workdir", remedy=remedy)
