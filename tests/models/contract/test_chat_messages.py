from __future__ import annotations

import pytest

from models.contract.chat_messages import ROLES, checked_messages, said
from models.contract.errors import InvalidInputError
from preprocessing.leakage import Leakage
from preprocessing.leakage_config import LeakageConfig

INSTRUCTIONS = " ".join(f"rule {number} is to be kind" for number in range(20))


def conversation(number: int) -> list[dict[str, object]]:
    return [
        {"role": "system", "content": INSTRUCTIONS},
        {"role": "user", "content": f"What comes after {number} and before {number + 2} on the line?"},
        {"role": "assistant", "content": None, "tool_calls": [{"name": "add"}]},
        {"role": "assistant", "content": f"{number + 1} comes."},
    ]


def test_what_was_said_is_without_instructions_and_empty_contents():
    assert said(conversation(1)) == "What comes after 1 and before 3 on the line?\n2 comes."
    assert said([{"role": "developer", "content": "x"}]) == ""
    with pytest.raises(InvalidInputError, match="role"):
        said([{"role": "nobody", "content": "x"}])


def test_conversations_of_shared_instructions_are_no_leaks_of_each_other():
    def leaks(text_of) -> int:
        search = Leakage(LeakageConfig())
        for number in range(0, 30, 10):
            search.add_held_out(number, text_of(conversation(number)))
        for number in range(1, 30, 10):
            search.add_train(number, text_of(conversation(number)))
        return len(search.result().leaks)

    assert leaks(said) == 0
    assert leaks(lambda messages: f"{INSTRUCTIONS}\n{said(messages)}") == 3


def test_every_role_may_speak_and_other_fields_are_kept():
    for role in ROLES:
        message = {"role": role, "content": "x", "name": "n", "extra": None}
        assert checked_messages([message]) == [{"role": role, "content": "x", "name": "n"}]
