"""Readers of corpus files: every format as a stream of records and broken rows."""
