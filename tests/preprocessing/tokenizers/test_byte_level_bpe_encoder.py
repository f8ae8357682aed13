from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from tokenizers import Tokenizer

from preprocessing.tokenizers import GraphTokenizer, load_tokenizer
from tests.preprocessing.tokenizers import vocabularies

FORMS = {
    "gpt2": lambda: vocabularies.small_json(digits=False),
    "gpt2_digits": vocabularies.small_json,
    "llama3": vocabularies.llama3_json,
    "qwen2": vocabularies.qwen2_json,
}


@pytest.fixture(scope="module")
def load(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], tuple[GraphTokenizer, Path]]:
    @cache
    def of_form(form: str) -> tuple[GraphTokenizer, Path]:
        path = vocabularies.write(tmp_path_factory.mktemp(form) / "tokenizer.json", FORMS[form]())
        return load_tokenizer(path), path

    return of_form


@pytest.fixture(params=FORMS)
def loaded(request: pytest.FixtureRequest, load: Callable[[str], tuple[GraphTokenizer, Path]]):
    return load(request.param)


def test_ids_equal_the_references(loaded: tuple[GraphTokenizer, Path]):
    tokenizer, path = loaded
    pieces = [token.decode("utf-8", "replace") for token in tokenizer.token_bytes]
    texts = vocabularies.nasty_texts(9, 2400, pieces)
    assert tokenizer.encode_batch(texts) == vocabularies.reference_ids(vocabularies.reference(path), texts)


def test_ids_with_special_tokens_equal_the_references(loaded: tuple[GraphTokenizer, Path]):
    tokenizer, path = loaded
    names = ["<tool_call>", "</tool_call>", *vocabularies.SPECIALS]
    texts = vocabularies.nasty_texts(
        3, 1200, [*names, *names, "<", "|>", "'s", " ", "a", "\u0338", "e\u0301"]
    )
    expected = vocabularies.reference_ids(Tokenizer.from_file(str(path)), texts)
    assert tokenizer.encode_batch(texts, with_special=True) == expected
    plain = vocabularies.reference_ids(vocabularies.reference(path), texts)
    assert tokenizer.encode_batch(texts) == plain
    assert {*tokenizer.special_ids.values()}.isdisjoint(index for ids in plain for index in ids)


def test_long_words_have_the_ids_of_the_reference(loaded: tuple[GraphTokenizer, Path]):
    tokenizer, path = loaded
    texts = ["a" * 50_000, "the" * 15_000, " \n" * 20_000, "!" * 40_000]
    assert tokenizer.encode_batch(texts) == vocabularies.reference_ids(vocabularies.reference(path), texts)


def test_text_becomes_added_tokens_that_are_not_special(load: Callable[[str], tuple[GraphTokenizer, Path]]):
    tokenizer, _ = load("qwen2")
    call = tokenizer.vocab_size - 2
    assert call in tokenizer.encode_batch(["x<tool_call>"])[0]
    assert "<tool_call>" not in tokenizer.special_ids
    assert tokenizer.token_bytes[call] == b"<tool_call>"


def test_a_word_that_is_a_token_becomes_it_without_merging(
    load: Callable[[str], tuple[GraphTokenizer, Path]],
):
    tokenizer, _ = load("llama3")
    piece = tokenizer.token_bytes.index(b"zqzq")
    assert tokenizer.encode_batch(["zqzq", "zqzqz"])[0] == [piece]
    assert piece not in tokenizer.encode_batch(["zqzqz"])[0]
