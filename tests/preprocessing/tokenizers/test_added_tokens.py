from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from models.contract.errors import CheckpointError
from preprocessing.tokenizers.added_tokens import read_added_tokens

FILE = Path("tokenizer.json")


def added(content: str, index: int, **changes: Any) -> dict[str, Any]:
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    return {"id": index, "content": content, **flags, **changes}


def read(*tokens: dict[str, Any], vocab: dict[str, int] | None = None, nfc: bool = False):
    return read_added_tokens(FILE, list(tokens), vocab or {"a": 0, "b": 1}, nfc)


def test_special_and_other_tokens_are_told_apart():
    assert read(added("<x>", 2), added("<y>", 3, special=False)) == ({"<x>": 2}, {"<y>": 3})


def test_a_token_of_the_vocabulary_keeps_its_id_and_others_follow_the_greatest():
    vocab = {"a": 0, "b": 1, "<x>": 9}
    assert read(added("<x>", 9), added("<y>", 10), vocab=vocab)[0] == {"<x>": 9, "<y>": 10}
    assert read(added("<y>", 3), added("<x>", 9), vocab=vocab)[0] == {"<y>": 3, "<x>": 9}


@pytest.mark.parametrize(
    ("tokens", "field"),
    [
        ([added("<x>", 3)], "added_tokens['<x>'].id"),
        ([added("<x>", 2, lstrip=True)], "added_tokens['<x>'].lstrip"),
        ([added("<x>", 2, rstrip=True)], "added_tokens['<x>'].rstrip"),
        ([added("<x>", 2, single_word=True)], "added_tokens['<x>'].single_word"),
        ([added("<x>", 2, special=None)], "added_tokens['<x>'].special"),
        ([added("", 2)], "added_tokens[''].single_word"),
        ([added("<x>", 2), added("<x>", 2)], "added_tokens"),
        ([added("<x>", 2), added("<x>", 3, special=False)], "added_tokens"),
        ([added("<x<", 2)], "added_tokens"),
        ([added("<x>", 2), added("<x>y", 3, special=False)], "added_tokens"),
        ([added("<x>", 2), added("<x", 3, special=False)], "added_tokens"),
        ([added("<x>", 2), added("<x>y", 3, normalized=True)], "added_tokens['<x>y'].normalized"),
    ],
)
def test_what_would_match_otherwise_is_refused_by_name(tokens: list[dict[str, Any]], field: str):
    with pytest.raises(CheckpointError, match="Supported: ") as caught:
        read(*tokens)
    assert caught.value.field == field


def test_a_token_that_is_looked_for_in_normalised_text_is_refused_beside_a_normalizer():
    token = added("<x>", 2, special=False, normalized=True)
    assert read(token) == ({}, {"<x>": 2})
    with pytest.raises(CheckpointError, match="normalized"):
        read(token, nfc=True)


@pytest.mark.parametrize("special", [False, True])
def test_an_id_of_another_token_is_refused(special: bool):
    """In a vocabulary with holes the next id may be one of its own."""
    with pytest.raises(CheckpointError, match="an id that no other token has") as caught:
        read(added("<x>", 2, special=special), vocab={"a": 0, "z": 2})
    assert caught.value.field == "added_tokens['<x>'].id"


def test_named_tokens_are_special_whatever_the_file_says():
    tokens = added("<x>", 3, special=False), added("<y>", 4, special=False)
    vocab = {"a": 0, "b": 1, "<z>": 2}
    named = {"<x>", "<z>", "<nowhere>"}
    found = read_added_tokens(FILE, list(tokens), vocab, False, named)
    assert found == ({"<x>": 3, "<z>": 2}, {"<y>": 4})


def test_many_tokens_are_read_in_one_pass_each():
    """As many as some checkpoints have; each against each other would be half a billion comparisons."""
    half = 11_500
    tokens = [added(f"<{index}>", 2 + index, special=index < half) for index in range(2 * half)]
    special, ordinary = read(*tokens)
    assert (len(special), len(ordinary)) == (half, half)
