"""Metrics, statistics of live traffic and reports."""
