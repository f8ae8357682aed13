"""Names of the reports in the Examples artifact's folder."""

from __future__ import annotations

REPORT = "corpus_report.json"
"""What was kept, what was left out, and why."""

DEAD_LETTERS = "dead_letters.jsonl"
"""Every broken row: `source`, `path`, `span` where there is one, `row`, `reason`, `detail`, `raw`."""
