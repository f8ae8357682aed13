from __future__ import annotations

import pytest

from models.contract import errors
from models.contract.errors import CODES, ContextLengthError, OverloadedError, TokenmillError


def _subclasses(cls: type) -> list[type]:
    return [cls, *(sub for direct in cls.__subclasses__() for sub in _subclasses(direct))]


def test_every_error_of_the_tree_maps_to_codes_through_its_nearest_base():
    for cls in _subclasses(TokenmillError):
        assert cls("what is wrong").codes in CODES.values()
    assert ContextLengthError("too long").codes == CODES[errors.InvalidInputError]
    assert OverloadedError("full").codes.http == 429


def test_the_docstring_draws_the_whole_tree():
    for cls in _subclasses(TokenmillError):
        assert cls.__name__ in errors.__doc__


def test_a_message_ends_with_its_remedy_and_a_code_is_snake_case():
    error = ContextLengthError("The prompt has 9 tokens.", field="prompt", remedy="Shorten it.")
    assert str(error) == "The prompt has 9 tokens. Shorten it."
    assert (error.code, error.field) == ("context_length", "prompt")


@pytest.mark.parametrize("cls", CODES)
def test_http_and_exit_codes_are_in_range(cls: type[TokenmillError]):
    codes = CODES[cls]
    assert 400 <= codes.http < 600
    assert 1 <= codes.exit <= 6
    assert 1000 <= codes.websocket < 1016
