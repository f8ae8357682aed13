"""Trainer: fine-tunes a checkpoint on transformed examples."""
