"""The SQLite file of ML Metadata: whether it can be read, in words."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from models.contract.errors import ConfigError


def check_database(database: Path) -> None:
    """Check the file's structure; a missing one is fine, and so is one that another process is writing.

    Raises:
        ConfigError: it is damaged or no SQLite database.
    """
    if not database.exists():
        return
    try:
        with closing(sqlite3.connect(f"{database.resolve().as_uri()}?mode=ro", uri=True)) as connection:
            found = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
    except sqlite3.Error as error:
        if "locked" in str(error):
            return
        raise unreadable_database(database, str(error)) from error
    if found != "ok":
        raise unreadable_database(database, str(found).splitlines()[-1])


def unreadable_database(database: Path, reason: str) -> ConfigError:
    """The error for a database that cannot be read, because it is damaged or being written."""
    remedy = (
        "Restore it from a copy, or move it away: runs and caches are then recorded anew, pushed packages "
        "and the runs' logs stay."
    )
    if "locked" in reason:
        remedy = "A run is writing it: try again in a moment."
    return ConfigError(
        f"metadata database {database} cannot be read: {reason.rstrip('.')}.", field="workdir", remedy=remedy
    )
