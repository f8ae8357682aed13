"""Names of files in an evaluation's artifact."""

from __future__ import annotations

RESULTS_FILE = "results.json"

TFMA_FOLDER = "tfma"
"""The same in the format of TensorFlow Model Analysis."""
