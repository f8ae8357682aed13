"""What ML Metadata recorded about pushed packages."""

from __future__ import annotations

from pathlib import Path

from ml_metadata import metadata_store
from ml_metadata.proto import metadata_store_pb2

PUSHED_TYPE = "PushedModel"


def open_store(database: Path) -> metadata_store.MetadataStore:
    """Open a SQLite metadata database for reading."""
    config = metadata_store_pb2.ConnectionConfig()
    config.sqlite.filename_uri = str(database)
    config.sqlite.connection_mode = metadata_store_pb2.SqliteMetadataSourceConfig.READONLY
    return metadata_store.MetadataStore(config)


def pushed_hashes(database: Path) -> dict[str, str]:
    """Content hashes by pushed version directory, as recorded when each was pushed.

    Empty where there is no database yet, e.g. before a first run or on a cluster without access.
    """
    if not database.is_file():
        return {}
    found = {}
    for artifact in open_store(database).get_artifacts_by_type(PUSHED_TYPE):
        properties = artifact.custom_properties
        if properties["pushed"].int_value == 1:
            found[properties["pushed_destination"].string_value] = properties["content_hash"].string_value
    return found
