from __future__ import annotations

from pathlib import Path

import pytest
import tensorflow as tf

from models.contract.errors import CheckpointError
from preprocessing.tokenizers import load_tokenizer
from preprocessing.tokenizers.byte_alphabet import BYTE_LETTERS
from preprocessing.tokenizers.load import read_spec
from preprocessing.tokenizers.merge_rules import not_self_derivable, used_before_complete
from preprocessing.tokenizers.sentencepiece_merger import SentencepieceMerger
from tests.preprocessing.tokenizers import vocabularies


def vocab_of(*merges: tuple[str, str]) -> dict[str, int]:
    tokens = dict.fromkeys([*"abcd", *("".join(rule) for rule in merges)])
    return {token: index for index, token in enumerate(tokens)}


def test_rules_in_the_order_of_training_are_self_derivable():
    merges = (("a", "b"), ("ab", "c"), ("c", "d"))
    assert not_self_derivable(vocab_of(*merges), merges) == []


def test_a_token_with_two_rules_is_found():
    merges = (("a", "b"), ("b", "c"), ("ab", "c"), ("a", "bc"))
    assert not_self_derivable(vocab_of(*merges), merges) == ["abc"]


def test_a_token_whose_bytes_merge_otherwise_is_found():
    merges = (("a", "b"), ("b", "c"), ("a", "bc"))
    assert not_self_derivable(vocab_of(*merges), merges) == ["abc"]


@pytest.mark.parametrize(
    ("merges", "expected"),
    [
        ((("a", "b"), ("ab", "c")), None),
        ((("ab", "c"), ("a", "b")), ("ab", "c")),
        ((("a", "b"), ("b", "c"), ("ab", "c"), ("abc", "d"), ("a", "bc")), ("abc", "d")),
    ],
)
def test_a_rule_before_those_that_make_its_parts_is_found(merges, expected):
    assert used_before_complete(merges) == expected


def test_a_perturbed_vocabulary_is_caught_and_still_exact(tmp_path: Path):
    path = vocabularies.write(tmp_path / "tokenizer.json", vocabularies.resplit_json())
    tokenizer = load_tokenizer(path)
    assert tokenizer.route == "vector"
    pieces = [token.decode("utf-8", "replace") for token in tokenizer.token_bytes]
    texts = vocabularies.nasty_texts(5, 1200, pieces)
    assert tokenizer.encode_batch(texts) == vocabularies.reference_ids(vocabularies.reference(path), texts)


def test_the_perturbed_vocabulary_would_go_wrong_by_concatenation(tmp_path: Path):
    path = vocabularies.write(tmp_path / "tokenizer.json", vocabularies.resplit_json())
    spec = read_spec(path)
    words = ["".join(rule).removeprefix("Ġ") for rule in spec.merges if all(map(str.isascii, rule))]
    wrong = SentencepieceMerger(spec).merge(tf.constant(words)).to_list()
    assert wrong != vocabularies.reference_ids(vocabularies.reference(path), words)


def test_rules_that_neither_way_reproduces_are_refused(tmp_path: Path):
    value = vocabularies.small_json()
    merges = [["a", "b"], ["b", "c"], ["ab", "c"], ["abc", "d"], ["a", "bc"]]
    tokens = dict.fromkeys([*BYTE_LETTERS, *map("".join, merges)])
    value["added_tokens"] = []
    value["model"].update(merges=merges, vocab={token: index for index, token in enumerate(tokens)})
    path = vocabularies.write(tmp_path / "tokenizer.json", value)
    with pytest.raises(CheckpointError, match=r"model\.merges"):
        load_tokenizer(path)
