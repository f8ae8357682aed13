"""JsonLogFormatter: log records as JSON lines."""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime

_STANDARD = {*vars(logging.makeLogRecord({})), "message", "asctime", "color_message"}


class JsonLogFormatter(logging.Formatter):
    """One JSON object per record: time, level, logger, message, and whatever `extra` gave it."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as one line."""
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **{key: value for key, value in vars(record).items() if key not in _STANDARD},
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)
