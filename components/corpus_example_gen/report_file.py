"""Name of the corpus report in the Examples artifact's folder."""

from __future__ import annotations

REPORT = "corpus_report.json"
"""What was kept, what was left out, and why."""
