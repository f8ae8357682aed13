"""Pipelines, their configuration and their runs."""
