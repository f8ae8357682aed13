from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import tensorflow as tf

from preprocessing.tokenizers import load_tokenizer, write_byte_tokenizer
from tests.preprocessing.tokenizers import vocabularies


def byte_json(folder: Path, change: Callable[[dict[str, int]], dict[str, int]], end: int) -> Path:
    """A byte tokenizer's files with another table of ids, `end` being that of its end token."""
    write_byte_tokenizer(folder)
    path = folder / "tokenizer.json"
    value = json.loads(path.read_text())
    value["model"]["vocab"] = change(value["model"]["vocab"])
    value["model"]["vocab"]["<|endoftext|>"] = value["added_tokens"][0]["id"] = end
    return vocabularies.write(path, value)


@pytest.mark.parametrize("offset", [3, 1000])
def test_bytes_may_have_any_ids(tmp_path: Path, offset: int):
    """As ByT5's, whose first ids are special tokens; ids between may be unused."""
    path = byte_json(tmp_path, lambda vocab: {token: index + offset for token, index in vocab.items()}, 1)
    tokenizer = load_tokenizer(path)
    texts = [text for text in vocabularies.nasty_texts(14, 300) if isinstance(text, str)]
    ids = tokenizer.encode_batch(texts)
    assert tokenizer.kind == "bytes"
    assert ids == [[byte + offset for byte in text.encode()] for text in texts]
    assert ids == vocabularies.reference_ids(vocabularies.reference(path), texts)
    assert tokenizer.decode(tf.ragged.constant(ids, tf.int32, ragged_rank=1)).numpy().tolist() == [
        text.encode() for text in texts
    ]
    assert tokenizer.encode_batch(["a<|endoftext|>"], with_special=True) == [[97 + offset, 1]]


def test_bytes_without_an_id_vanish_as_in_the_reference(tmp_path: Path):
    path = byte_json(
        tmp_path, lambda vocab: {token: vocab[token] for token in vocab if token not in "eÃ"}, 256
    )
    tokenizer = load_tokenizer(path)
    texts = ["eerie", "é", "", *vocabularies.nasty_texts(15, 300)]
    assert tokenizer.encode_batch(texts) == vocabularies.reference_ids(vocabularies.reference(path), texts)
    assert tokenizer.kind == "byte_level_bpe"
