"""Baseline lookup: what a new model must not be worse than."""
