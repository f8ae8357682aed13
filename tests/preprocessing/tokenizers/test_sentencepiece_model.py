from __future__ import annotations

import sentencepiece

from preprocessing.tokenizers.merge_rules import made_tokens
from preprocessing.tokenizers.sentencepiece_model import BEGIN, END, sentencepiece_model
from tests.preprocessing.tokenizers import vocabularies


def test_the_sentencepiece_library_takes_the_model_and_gives_its_ids():
    """It is stricter about the table of replacements than TF Text's operation."""
    vocab, rules = vocabularies.small_vocabulary()
    made = made_tokens(vocab, tuple((left, right) for left, right in rules))
    size = len(vocab) + 3
    library = sentencepiece.SentencePieceProcessor(
        model_proto=sentencepiece_model(vocab, made, whole=made[:2], vocab_size=size)
    )
    assert library.vocab_size() == size + 5
    token = made[-1]
    assert library.encode(f"{BEGIN}{token}{END}{BEGIN}{made[1]}{END}") == [
        size + 2,
        vocab[token],
        size + 1,
        size + 4,
    ]
