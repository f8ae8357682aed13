"""Marks that are ordinary added tokens: ids in plain text, text within a conversation."""

from __future__ import annotations

import json
from pathlib import Path

import tensorflow as tf

from preprocessing.tokenizers import load_tokenizer
from tests.preprocessing.tokenizers import vocabularies
from tests.preprocessing.tokenizers.every_kind import BUILT_MARKS, kinds

TEXTS = [
    *("<tool_call>", "a<|user|>b <|end|>\n", "<|user|><|user|>", "\u3000", "a \u3000 <tool_call>\u3000"),
    *("<|us\u3000er|>", "<|user|", "", " <|im_end|><|end|>"),
]


def test_text_of_a_conversation_has_the_references_ids_without_the_marks(tmp_path: Path):
    kinds()["qwen2, ordinary marks"](tmp_path)
    tokenizer = load_tokenizer(tmp_path)
    names = set(BUILT_MARKS) | {"<tool_call>"}
    assert tokenizer.control_ids.keys() == names | tokenizer.special_ids.keys()
    path = tmp_path / "tokenizer.json"
    assert tokenizer.encode_batch(TEXTS) == vocabularies.reference_ids(vocabularies.reference(path), TEXTS)

    value = json.loads(path.read_text())
    kept = [token for token in value["added_tokens"] if token["content"] not in names]
    blank = max(token["id"] for token in kept)
    vocabularies.write(path, {**value, "added_tokens": kept})
    reference = vocabularies.reference(path)
    moved = {reference.token_to_id("\u3000"): blank}
    expected = [
        [moved.get(index, index) for index in row] for row in vocabularies.reference_ids(reference, TEXTS)
    ]
    count = len(TEXTS)
    rows = tf.range(count + 1, dtype=tf.int64)
    found = tokenizer.encode_segments(tf.constant(TEXTS), tf.fill([count], -1), rows).to_list()
    assert found == expected
    assert any(blank in row for row in found)
    assert not set(tokenizer.control_ids.values()) & {index for row in found for index in row}
    special = tf.constant([tokenizer.control_ids["<tool_call>"]])
    (row,) = tokenizer.encode_segments(tf.constant(["x"]), special, tf.constant([0, 1], tf.int64)).to_list()
    assert row == [tokenizer.control_ids["<tool_call>"]]


def test_what_merges_make_and_white_space_are_no_marks(tmp_path: Path):
    value = vocabularies.small_json()
    used = set("".join(vocabularies.SPECIALS))
    words = ("".join(rule) for rule in value["model"]["merges"])
    word = next(one for one in words if one.isascii() and one[0] not in used and one[0] not in one[1:])
    like = {**value["added_tokens"][0], "special": False}
    first = 1 + max(token["id"] for token in value["added_tokens"])
    value["added_tokens"] += [
        {**like, "id": value["model"]["vocab"][word], "content": word},
        {**like, "id": first, "content": "\n"},
    ]
    tokenizer = load_tokenizer(vocabularies.write(tmp_path / "tokenizer.json", value))
    assert tokenizer.control_ids == tokenizer.special_ids
    rows = tf.constant([0, 1], tf.int64)
    texts = [f"a{word}\n\n{word}b"]
    found = tokenizer.encode_segments(tf.constant(texts), tf.constant([-1]), rows).to_list()
    assert found == tokenizer.encode_batch(texts)
