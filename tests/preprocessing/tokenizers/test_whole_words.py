from __future__ import annotations

import tensorflow as tf

from preprocessing.tokenizers.byte_alphabet import BYTE_LETTERS
from preprocessing.tokenizers.whole_words import NONE, WholeWords

VOCAB = {
    **{letter: index for index, letter in enumerate(BYTE_LETTERS[:200])},
    "the": 200,
    "Ġthe": 201,
    "zq": 202,
}


def test_words_that_are_tokens_have_their_ids():
    found = WholeWords(VOCAB, ["the", "Ġthe"]).find(tf.constant(["the", " the", "a", "zq", "", "thé"]))
    assert found.numpy().tolist() == [200, 201, VOCAB["a"], NONE, NONE, NONE]


def test_of_tokens_with_one_slot_the_first_is_found():
    names = [f"{number}w" for number in range(30_000)]
    vocab = {name: index for index, name in enumerate(names)}
    found = WholeWords(vocab, names).find(tf.constant(names)).numpy()
    slots = tf.strings.to_hash_bucket_fast(names, 1 << 15).numpy()
    first = {slot: index for index, slot in reversed(list(enumerate(slots)))}
    assert found.tolist() == [index if first[slot] == index else NONE for index, slot in enumerate(slots)]


def test_without_tokens_nothing_is_found():
    words = tf.constant(["", "a"])
    assert WholeWords({}, []).find(words).numpy().tolist() == [NONE, NONE]
    assert WholeWords(VOCAB, []).find(words[:0]).numpy().tolist() == []
