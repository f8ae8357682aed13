"""Names of files in an evaluation's artifact."""

from __future__ import annotations

RESULTS_FILE = "results.json"
