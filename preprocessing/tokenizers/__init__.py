"""Tokenizers as TensorFlow graphs."""

from preprocessing.tokenizers.byte_tokenizer_files import write_byte_tokenizer
from preprocessing.tokenizers.graph_tokenizer import GraphTokenizer
from preprocessing.tokenizers.load import load_tokenizer

__all__ = ["GraphTokenizer", "load_tokenizer", "write_byte_tokenizer"]
