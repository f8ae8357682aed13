"""Text signatures refuse what does not describe rows, by the name of the input."""

from __future__ import annotations

import re
from typing import Any

import pytest
import tensorflow as tf

from models.signatures.tensor_specs import input_specs
from models.signatures.text_signatures import TextSignatures
from preprocessing.tokenizers import load_tokenizer, write_byte_tokenizer

END = 256
SEGMENTS = {"text": ["a", "b"], "special_id": [-1, END], "row_splits": [0, 2]}
IDS = {"ids": [97, 98, 99], "row_splits": [0, 1, 3]}
BAD_SPLITS = [[], [0], [1, 2], [0, 2, 1, 2], [0, 7], [-1, 2], [0, 1], [2, 0]]


@pytest.fixture(scope="module")
def functions(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("bytes")
    write_byte_tokenizer(folder)
    endpoints = TextSignatures(load_tokenizer(folder)).endpoints()
    return {
        name: tf.function(endpoints[name], input_signature=input_specs(name), autograph=False)
        for name in ("tokenize_segments", "detokenize")
    }


def call(functions: dict[str, Any], name: str, inputs: dict[str, list[Any]]) -> dict[str, tf.Tensor]:
    specs = {spec.name: spec for spec in input_specs(name)}
    return functions[name](**{key: tf.constant(value, specs[key].dtype) for key, value in inputs.items()})


def test_rows_of_segments_and_of_ids(functions: dict[str, Any]):
    found = call(functions, "tokenize_segments", {**SEGMENTS, "row_splits": [0, 0, 2, 2]})
    assert found["ids"].numpy().tolist() == [97, END]
    assert found["row_splits"].numpy().tolist() == [0, 0, 2, 2]
    assert call(functions, "detokenize", IDS)["text"].numpy().tolist() == [b"a", b"bc"]
    none = call(functions, "tokenize_segments", {"text": [], "special_id": [], "row_splits": [0]})
    assert none["row_splits"].numpy().tolist() == [0]
    empty = call(functions, "detokenize", {"ids": [], "row_splits": [0, 0]})
    assert empty["text"].numpy().tolist() == [b""]


@pytest.mark.parametrize("splits", BAD_SPLITS)
@pytest.mark.parametrize(("name", "inputs"), [("tokenize_segments", SEGMENTS), ("detokenize", IDS)])
def test_row_splits_that_describe_no_rows_are_refused(
    functions: dict[str, Any], name: str, inputs: dict[str, list[Any]], splits: list[int]
):
    told = re.escape(f"[{' '.join(map(str, splits))}]")
    with pytest.raises(tf.errors.InvalidArgumentError, match=rf"`row_splits` must start at 0[\s\S]*{told}"):
        call(functions, name, {**inputs, "row_splits": splits})


@pytest.mark.parametrize("special", [-2, 5, 10**9, -(2**31), 2**31 - 1])
def test_an_id_that_is_no_special_token_is_refused(functions: dict[str, Any], special: int):
    with pytest.raises(tf.errors.InvalidArgumentError, match=rf"`special_id` must be -1[\s\S]*\[{special}\]"):
        call(functions, "tokenize_segments", {**SEGMENTS, "special_id": [-1, special]})


@pytest.mark.parametrize("special", [[], [-1], [END, -1, -1]])
def test_as_many_special_ids_as_texts_are_wanted(functions: dict[str, Any], special: list[int]):
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"`special_id` must be as long as `text`"):
        call(functions, "tokenize_segments", {**SEGMENTS, "special_id": special})
