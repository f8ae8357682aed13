"""Vocabulary trainer: makes the tokenizer of a model that is trained from scratch."""
