"""Exporter: the Trainer's checkpoint becomes a model package."""
