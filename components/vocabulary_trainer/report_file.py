"""Name of the report on a vocabulary; by itself, so that readers need not import the trainer."""

from __future__ import annotations

REPORT = "vocabulary_report.json"
"""File in the Vocabulary artifact: what was learned from what, and how well it writes text."""
