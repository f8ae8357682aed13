"""Vocabulary transform: Transform with a tokenizer that the same run has made."""
