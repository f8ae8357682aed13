from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer
from transformers import AutoConfig, AutoTokenizer

from models.contract.errors import CheckpointError
from models.gguf_import import import_gguf
from models.gguf_tokenizer import GgufTokenizer
from tests.gguf_file import metadata, write_gguf
from tests.tiny import CHAT_TEMPLATE, MERGES, tokenizer_json

TEXTS = ["def the thing", "in 1234 the  end", "é\u00a0日本 \n\n x", "<|endoftext|> there"]


def _tokenizer(tmp_path: Path, fields: dict[str, Any]) -> Tokenizer:
    file = tmp_path / "tokenizer.json"
    file.write_text(json.dumps(GgufTokenizer(fields, "test").tokenizer_json()))
    return Tokenizer.from_file(str(file))


@pytest.mark.parametrize(("pre", "digits"), [("smollm", True), ("gpt-2", False)])
def test_ids_equal_those_of_the_original_tokenizer(tmp_path: Path, pre: str, digits: bool):
    ours = _tokenizer(tmp_path, {**metadata(), "tokenizer.ggml.pre": pre})
    original = Tokenizer.from_str(json.dumps(tokenizer_json(MERGES, digits=digits)))
    for text in TEXTS:
        assert ours.encode(text).ids == original.encode(text).ids
    assert ours.decode(ours.encode(TEXTS[0]).ids) == TEXTS[0]


def test_transformers_loads_the_imported_directory(tmp_path: Path):
    write_gguf(tmp_path / "tiny.gguf")
    import_gguf(tmp_path / "tiny.gguf", tmp_path / "out")
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "out")
    assert (tokenizer.eos_token_id, tokenizer.bos_token_id, tokenizer.pad_token_id) == (0, 1, 2)
    assert tokenizer.chat_template == CHAT_TEMPLATE
    assert tokenizer("the<|im_end|>").input_ids[-1] == 2
    config = AutoConfig.from_pretrained(tmp_path / "out")
    assert (config.model_type, config.num_key_value_heads, config.tie_word_embeddings) == ("llama", 2, True)
    assert config.rope_parameters["rope_theta"] == 5000.0


def test_a_bos_token_is_put_before_a_text_if_the_file_says_so(tmp_path: Path):
    tokenizer = _tokenizer(tmp_path, {**metadata(), "tokenizer.ggml.add_bos_token": True})
    assert tokenizer.encode("the").ids[0] == 1
    assert tokenizer.encode("the", add_special_tokens=False).ids[0] != 1


def test_end_ids_are_the_files_own_and_the_ends_by_name():
    assert GgufTokenizer(metadata(), "test").eos_ids == (0, 2)
    assert GgufTokenizer({**metadata(), "tokenizer.ggml.eos_token_id": 2}, "test").eos_ids == (2, 0)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("tokenizer.ggml.pre", "llama-bpe"),
        ("tokenizer.ggml.pre", None),
        ("tokenizer.ggml.model", "llama"),
        ("tokenizer.ggml.add_eos_token", True),
        ("tokenizer.ggml.tokens", ["a", "a"]),
        ("tokenizer.ggml.tokens", []),
        ("tokenizer.ggml.token_type", [1, 1]),
    ],
)
def test_what_cannot_be_reproduced_is_refused_by_name(field: str, value: object):
    with pytest.raises(CheckpointError, match=field.replace(".", r"\.")):
        GgufTokenizer({**metadata(), field: value}, "test")


def test_a_special_id_outside_the_vocabulary_is_refused():
    with pytest.raises(CheckpointError, match="special token"):
        GgufTokenizer({**metadata(), "tokenizer.ggml.eos_token_id": 10_000}, "test")
