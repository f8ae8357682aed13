"""Names of the files in a report's artifact."""

from __future__ import annotations

PAGE_FILE = "report.html"
DATA_FILE = "report.json"
