from __future__ import annotations

from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf
from tokenizers import Tokenizer

from preprocessing.tokenizers import GraphTokenizer, load_tokenizer, write_byte_tokenizer
from preprocessing.tokenizers.character_classes import character_classes
from preprocessing.tokenizers.word_pattern import WordPattern
from tests.preprocessing.tokenizers import vocabularies


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("small") / "tokenizer.json"
    return vocabularies.write(file, vocabularies.small_json())


@pytest.fixture(scope="module")
def tokenizer(path: Path) -> GraphTokenizer:
    return load_tokenizer(path)


@pytest.fixture(scope="module")
def byte_tokenizer(tmp_path_factory: pytest.TempPathFactory) -> GraphTokenizer:
    directory = tmp_path_factory.mktemp("bytes")
    write_byte_tokenizer(directory, ["<|end|>", "<|mark|>"])
    return load_tokenizer(directory)


@pytest.mark.parametrize("digits", [False, True])
def test_ids_equal_the_references(tmp_path: Path, digits: bool):
    path = vocabularies.write(tmp_path / "tokenizer.json", vocabularies.small_json(digits=digits))
    texts = vocabularies.nasty_texts(9, 2000)
    expected = vocabularies.reference_ids(vocabularies.reference(path), texts)
    assert load_tokenizer(path).encode_batch(texts) == expected


def test_bytes_without_a_token_vanish_before_merging_as_in_the_reference(tmp_path: Path):
    value = vocabularies.small_json()
    model = value["model"]
    letter = "e"
    model["merges"] = [rule for rule in model["merges"] if letter not in "".join(rule)]
    for token in [token for token in model["vocab"] if letter in token]:
        del model["vocab"][token]
    value["added_tokens"] = []
    path = vocabularies.write(tmp_path / "tokenizer.json", value)
    texts = ["eerie the tree", "e", "", "aeb"]
    expected = vocabularies.reference_ids(vocabularies.reference(path), texts)
    assert load_tokenizer(path).encode_batch(texts) == expected


def test_no_texts_give_no_ids(tokenizer: GraphTokenizer, byte_tokenizer: GraphTokenizer):
    for each in (tokenizer, byte_tokenizer):
        assert each.encode_batch([]) == []
        assert each.encode_batch(["", ""], with_special=True) == [[], []]
        assert each.decode(tf.RaggedTensor.from_row_splits(tf.zeros([0], tf.int32), [0])).numpy().size == 0


def test_a_very_long_word_has_the_ids_of_the_reference(tokenizer: GraphTokenizer, path: Path):
    texts = ["a" * 50_000, "the" * 15_000]
    expected = vocabularies.reference_ids(vocabularies.reference(path), texts)
    assert tokenizer.encode_batch(texts) == expected


def test_segments_mix_control_tokens_and_text_that_stays_text(tokenizer: GraphTokenizer, path: Path):
    start, end = tokenizer.special_ids["<|im_start|>"], tokenizer.special_ids["<|im_end|>"]
    text = ["", "user\nhi <|im_end|>", "", "", "", "x"]
    special = [start, -1, end, start, -1, -1]
    ids = tokenizer.encode_segments(
        tf.constant(text), tf.constant(special), tf.constant([0, 3, 3, 6], tf.int64)
    )
    plain = vocabularies.reference_ids(vocabularies.reference(path), [text[1], text[5]])
    assert ids.to_list() == [[start, *plain[0], end], [], [start, *plain[1]]]


def test_segments_equal_the_reference_on_the_joined_prompt(tokenizer: GraphTokenizer, path: Path):
    start, end = tokenizer.special_ids["<|im_start|>"], tokenizer.special_ids["<|im_end|>"]
    text = ["", "user\nwhat's  ", "", "\n", "", "assistant\n"]
    special = [start, -1, end, -1, start, -1]
    ids = tokenizer.encode_segments(tf.constant(text), tf.constant(special), tf.constant([0, 6], tf.int64))
    joined = "<|im_start|>user\nwhat's  <|im_end|>\n<|im_start|>assistant\n"
    assert ids.to_list() == [Tokenizer.from_file(str(path)).encode(joined).ids]


def test_bytes_make_the_round_trip_unchanged(byte_tokenizer: GraphTokenizer):
    texts = ["héllo\0", "", "日本"]
    ids = byte_tokenizer.encode_batch(texts)
    assert ids == [list(text.encode()) for text in texts]
    assert byte_tokenizer.encode_batch([bytes(range(256))]) == [list(range(256))]
    assert byte_tokenizer.decode(tf.ragged.constant(ids, tf.int32)).numpy().tolist() == [
        text.encode() for text in texts
    ]


def test_bytes_know_special_tokens_only_on_demand(byte_tokenizer: GraphTokenizer):
    text = "a<|end|><|mark|>é"
    assert byte_tokenizer.encode_batch([text]) == [list(text.encode())]
    ids = byte_tokenizer.encode_batch(["<|end", text, "|>"], with_special=True)
    assert ids == [list(b"<|end"), [97, 256, 257, *"é".encode()], list(b"|>")]
    assert byte_tokenizer.kind == "bytes"
    assert byte_tokenizer.eos_ids == (256,)
    assert byte_tokenizer.vocab_size == 258


def test_the_byte_tokenizers_files_mean_the_same_to_the_reference(tmp_path: Path):
    write_byte_tokenizer(tmp_path)
    texts = [text for text in vocabularies.nasty_texts(10, 300) if isinstance(text, str)]
    expected = vocabularies.reference_ids(vocabularies.reference(tmp_path / "tokenizer.json"), texts)
    assert load_tokenizer(tmp_path).encode_batch(texts) == expected


def test_the_fingerprint_follows_whatever_decides_ids(tmp_path: Path, tokenizer: GraphTokenizer):
    def loaded(**changes: object) -> str:
        value = vocabularies.small_json(digits=not changes.pop("no_digits", False))
        value["model"].update(changes)
        return load_tokenizer(vocabularies.write(tmp_path / "tokenizer.json", value)).fingerprint

    merges = vocabularies.small_vocabulary()[1]
    assert loaded() == tokenizer.fingerprint
    assert loaded(merges=merges[:-1]) != tokenizer.fingerprint
    assert loaded(no_digits=True) != tokenizer.fingerprint


def test_signatures_of_one_graph_share_its_tables(tokenizer: GraphTokenizer, tmp_path: Path):
    archive = keras.export.ExportArchive()
    archive.track(tokenizer)
    for index in range(3):
        archive.add_endpoint(f"tokenize_{index}", _endpoint(tokenizer))
    archive.write_out(str(tmp_path), verbose=False)
    raw = (tmp_path / "saved_model.pb").read_bytes()
    table = np.unique(character_classes(WordPattern.GPT2_DIGITS).reshape(-1, 256), axis=0)
    assert raw.count(max(table, key=lambda page: len(set(page))).tobytes()) == 1


def _endpoint(tokenizer: GraphTokenizer) -> tf.types.experimental.GenericFunction:
    text = tf.TensorSpec([None], tf.string, name="text")
    return tf.function(
        lambda text: {"ids": tokenizer.encode(text).values}, input_signature=[text], autograph=False
    )
