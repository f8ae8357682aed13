"""MetadataHandle: TFX's handle on a metadata store, opened by our one function."""

from __future__ import annotations

import random
import time
from typing import Self

from ml_metadata import errors
from tfx.orchestration import metadata

from components.metadata.connection_proto import connection_proto
from components.metadata.metadata_connection import MetadataConnection
from components.metadata.metadata_store import open_metadata
from models.contract.errors import ConfigError

_TRIES = 5


class MetadataHandle(metadata.Metadata):
    """What TFX's launcher reads and writes a run's history through.

    Args:
        connection: of the store; opened for writing when the context is entered.
    """

    def __init__(self, connection: MetadataConnection) -> None:
        # TFX shows the configuration to whoever asks; the password is none of their business.
        super().__init__(connection_proto(connection, with_password=False))
        self._connection = connection

    def __enter__(self) -> Self:
        self._store = self._open()
        self._users += 1
        return self

    def _open(self) -> object:
        """Two first runs that make the tables of one database at a time get in each other's way."""
        for _ in range(_TRIES - 1):
            try:
                return open_metadata(self._connection, readonly=False)
            except (ConfigError, RuntimeError, errors.StatusError):
                time.sleep(random.random())
        return open_metadata(self._connection, readonly=False)
