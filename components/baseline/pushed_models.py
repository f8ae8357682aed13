"""What ML Metadata recorded about pushed packages."""

from __future__ import annotations

from components.metadata.metadata_connection import MetadataConnection
from components.metadata.metadata_store import open_existing

PUSHED_TYPE = "PushedModel"


def pushed_hashes(metadata: MetadataConnection | None) -> dict[str, str]:
    """Content hashes by pushed version directory, as recorded when each was pushed.

    Empty without a store, e.g. on a cluster without access, and where there is no database yet.

    Raises:
        ConfigError: the store cannot be opened.
    """
    store = open_existing(metadata) if metadata is not None else None
    if store is None:
        return {}
    found = {}
    for artifact in store.get_artifacts_by_type(PUSHED_TYPE):
        properties = artifact.custom_properties
        if properties["pushed"].int_value == 1:
            found[properties["pushed_destination"].string_value] = properties["content_hash"].string_value
    return found
