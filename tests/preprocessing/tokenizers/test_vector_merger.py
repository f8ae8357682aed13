from __future__ import annotations

import pytest
import tensorflow as tf

from preprocessing.tokenizers.load import read_spec
from preprocessing.tokenizers.sentencepiece_merger import SentencepieceMerger
from preprocessing.tokenizers.vector_merger import VectorMerger
from tests.preprocessing.tokenizers import vocabularies


@pytest.fixture(scope="module")
def spec(tmp_path_factory: pytest.TempPathFactory):
    path = tmp_path_factory.mktemp("small") / "tokenizer.json"
    return read_spec(vocabularies.write(path, vocabularies.small_json()))


def test_it_agrees_with_merging_by_concatenation_where_that_is_exact(spec):
    texts = vocabularies.nasty_texts(6, 800)
    words = tf.constant([text if isinstance(text, bytes) else text.encode() for text in texts])
    assert VectorMerger(spec).merge(words).to_list() == SentencepieceMerger(spec).merge(words).to_list()


def test_runs_of_one_letter_merge_from_the_left(spec):
    words = tf.constant([letter * count for letter in "e =" for count in range(1, 40)])
    assert VectorMerger(spec).merge(words).to_list() == SentencepieceMerger(spec).merge(words).to_list()


def test_no_words_and_empty_words_have_no_ids(spec):
    merger = VectorMerger(spec)
    assert merger.merge(tf.constant([], tf.string)).to_list() == []
    assert merger.merge(tf.constant(["", "the", ""])).row_lengths().numpy()[[0, 2]].tolist() == [0, 0]


def test_a_word_beyond_the_bound_is_refused_not_approximated(spec):
    merger = VectorMerger(spec, max_word_bytes=10)
    assert merger.merge(tf.constant(["a" * 10])).row_lengths().numpy()[0] > 0
    with pytest.raises(tf.errors.InvalidArgumentError, match="more than 10 bytes"):
        merger.merge(tf.constant(["a" * 11]))
