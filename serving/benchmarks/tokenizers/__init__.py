"""Tokenizers that `tokenmill bench tokenizer` measures: each prepares texts, encodes them, and tells ids."""
