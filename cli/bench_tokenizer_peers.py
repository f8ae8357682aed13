"""Other tokenizers with the vocabulary of ours, for `tokenmill bench tokenizer`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from preprocessing.tokenizers.byte_alphabet import BYTE_LETTERS, token_to_bytes
from preprocessing.tokenizers.tokenizer_spec import BYTE_LEVEL_BPE
from preprocessing.tokenizers.word_pattern import WordPattern
from serving.benchmarks.tokenizers.huggingface_tokenizer import HuggingFaceTokenizer
from serving.benchmarks.tokenizers.sentencepiece_tokenizer import SentencepieceTokenizer
from serving.benchmarks.tokenizers.tiktoken_tokenizer import TiktokenTokenizer

if TYPE_CHECKING:
    from preprocessing.tokenizers.tokenizer_spec import TokenizerSpec
    from serving.benchmarks.tokenizers.measured_tokenizer import MeasuredTokenizer

_CONTRACTIONS = r"'(?:[sdmt]|ll|ve|re)"
_GPT2_END = r"| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"
_LLAMA3_START = r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|"
_LLAMA3_END = r"| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
_PATTERNS = {
    WordPattern.GPT2: _CONTRACTIONS + r"| ?\p{L}++| ?\p{N}++" + _GPT2_END,
    WordPattern.GPT2_DIGITS: r"\s+(?=\p{N})|\p{N}|" + _CONTRACTIONS + r"| ?\p{L}++" + _GPT2_END,
    WordPattern.LLAMA3: _LLAMA3_START + r"\p{N}{1,3}+" + _LLAMA3_END,
    WordPattern.QWEN2: _LLAMA3_START + r"\p{N}" + _LLAMA3_END,
}
"""As tiktoken writes them: atomic, so that its regex engine never goes back."""


def peers(path: Path, spec: TokenizerSpec, threads: int) -> tuple[list[MeasuredTokenizer], dict[str, str]]:
    """Those that can have this vocabulary, and by name why another cannot take part.

    Args:
        path: tokenizer.json or .model.
        spec: what it says.
        threads: of each, where it can be told.
    """
    found: list[MeasuredTokenizer] = []
    missing: dict[str, str] = {}
    makers = {SentencepieceTokenizer.name: lambda: SentencepieceTokenizer(path, threads)}
    if path.suffix == ".json":
        makers = {HuggingFaceTokenizer.name: lambda: HuggingFaceTokenizer(path)}
        if spec.kind != BYTE_LEVEL_BPE:
            missing[TiktokenTokenizer.name] = f"it has byte-level BPE, this is of kind {spec.kind}"
        elif spec.pattern in _PATTERNS:
            makers[TiktokenTokenizer.name] = lambda: _tiktoken(spec, threads)
    for name, make in makers.items():
        try:
            found.append(make())
        except ImportError as error:
            missing[name] = str(error)
    return found, missing


def _tiktoken(spec: TokenizerSpec, threads: int) -> TiktokenTokenizer:
    """Bytes have the first ranks, then come what merges make, in their order."""
    ranks = {bytes([byte]): byte for byte in range(256)}
    ids = {byte: spec.vocab.get(letter, -1) for byte, letter in enumerate(BYTE_LETTERS)}
    for place, (left, right) in enumerate(spec.merges):
        token = left + right
        ranks[token_to_bytes(token)] = 256 + place
        ids[256 + place] = spec.vocab[token]
    return TiktokenTokenizer(_PATTERNS[spec.pattern], ranks, ids, spec.nfc, threads)
