from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import tensorflow as tf
from tokenizers import Tokenizer
from tokenizers.models import BPE

from preprocessing.tokenizers.byte_alphabet import BYTE_LETTERS
from preprocessing.tokenizers.load import read_spec
from preprocessing.tokenizers.sentencepiece_merger import SentencepieceMerger
from preprocessing.tokenizers.tokenizer_spec import TokenizerSpec
from tests.preprocessing.tokenizers import vocabularies


@pytest.fixture(scope="module")
def spec(tmp_path_factory: pytest.TempPathFactory) -> TokenizerSpec:
    path = tmp_path_factory.mktemp("small") / "tokenizer.json"
    return read_spec(vocabularies.write(path, vocabularies.small_json()))


def words_of(texts: list[str | bytes]) -> list[str]:
    """Texts as words in the byte alphabet."""
    raw = [text if isinstance(text, bytes) else text.encode() for text in texts]
    return ["".join(BYTE_LETTERS[byte] for byte in text) for text in raw]


def reference(spec: TokenizerSpec, words: list[str]) -> list[list[int]]:
    merges = list(spec.merges)
    model = Tokenizer(BPE(vocab=spec.vocab, merges=merges, ignore_merges=spec.ignore_merges))
    return [encoding.ids for encoding in model.encode_batch(words)]


@pytest.mark.parametrize("ignore_merges", [False, True])
def test_any_bytes_merge_as_by_rule(spec: TokenizerSpec, ignore_merges: bool):
    vocab = {
        **spec.vocab,
        "zq": spec.vocab_size,
        "Ġsplitter": spec.vocab_size + 1,
        "zqĊ": spec.vocab_size + 2,
    }
    spec = replace(spec, vocab=vocab, ignore_merges=ignore_merges)
    texts = [
        *vocabularies.nasty_texts(6, 800),
        "zq",
        "zqzq",
        " splitter",
        "splitter",
        "zq\n",
        "zq",
        " zq",
        "",
    ]
    ids = SentencepieceMerger(spec).merge(tf.constant(texts)).to_list()
    assert ids == reference(spec, words_of(texts))
    assert ([spec.vocab["zq"]] in ids) == ignore_merges


def test_runs_of_one_letter_merge_from_the_left(spec: TokenizerSpec):
    words = [letter * count for letter in "e =" for count in range(1, 40)]
    assert SentencepieceMerger(spec).merge(tf.constant(words)).to_list() == reference(spec, words_of(words))


@pytest.mark.parametrize("ignore_merges", [False, True])
def test_no_words_and_empty_words_have_no_ids(spec: TokenizerSpec, ignore_merges: bool):
    vocab = {**spec.vocab, "zq": spec.vocab_size}
    merger = SentencepieceMerger(replace(spec, vocab=vocab, ignore_merges=ignore_merges))
    assert merger.merge(tf.constant([], tf.string)).to_list() == []
    lengths = merger.merge(tf.constant(["", "zq", ""])).row_lengths().numpy().tolist()
    assert lengths == [0, 1 if ignore_merges else 2, 0]


@pytest.mark.parametrize("change", [vocabularies.resplit_json, vocabularies.reordered_json])
@pytest.mark.parametrize("form", [vocabularies.small_json, vocabularies.qwen2_json, vocabularies.llama3_json])
def test_changed_rules_are_noticed_and_followed(change, form, tmp_path: Path):
    """Taken for tokens of the order of training, their ids would be others."""
    value = change(form())
    value["model"]["ignore_merges"] = False
    spec = read_spec(vocabularies.write(tmp_path / "tokenizer.json", value))
    words = [token for token in spec.vocab if token.isascii()]
    assert SentencepieceMerger(spec).merge(tf.constant(words)).to_list() == reference(spec, words)


@pytest.mark.parametrize("ignore_merges", [False, True])
def test_looked_up_words_have_the_ids_of_merging(spec: TokenizerSpec, ignore_merges: bool):
    """As large vocabularies do: one unused id makes this one large."""
    vocab = {**spec.vocab, "zq": spec.vocab_size, "Ġsplitter": spec.vocab_size + 1}
    small = replace(spec, vocab=vocab, ignore_merges=ignore_merges)
    large = replace(small, specials={**spec.specials, "<unused>": 1 << 16})
    tokens = [word for word in spec.token_bytes() if word]
    words = tf.constant([*vocabularies.nasty_texts(7, 400), *tokens, b"", b"\xff", b"zq", b" splitter"])
    assert (
        SentencepieceMerger(large).merge(words).to_list() == SentencepieceMerger(small).merge(words).to_list()
    )
    assert SentencepieceMerger(large).merge(words[:0]).to_list() == []
