"""Checks of a conversation's messages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from models.contract.errors import InvalidInputError

ROLES = ("system", "developer", "user", "assistant", "tool", "function")
"""Who may speak; templates build special tokens from the role, so no other word may stand there."""

_INSTRUCTING = ("system", "developer")


def checked_messages(messages: Any) -> list[dict[str, Any]]:
    """The messages as dictionaries, contents as text, fields that are None left out.

    Args:
        messages: a list of objects with `role` and `content`; a content is text, or a list of
            `{"type": "text", "text": …}`, which are joined. A content may be missing where an
            assistant calls tools. Other fields are kept.

    Raises:
        InvalidInputError: something else; the message names the message by its index, and the field.
    """
    if not isinstance(messages, list | tuple) or not messages:
        raise _wrong("messages", messages, "must be a list of at least one message")
    return [_message(message, f"messages[{index}]") for index, message in enumerate(messages)]


def said(messages: Any) -> str:
    """What was said in a conversation, a line per message, without the system's instructions.

    Conversations that share instructions, and the text of a template, are not alike for that reason.

    Raises:
        InvalidInputError: see `checked_messages`.
    """
    spoken = (message for message in checked_messages(messages) if message["role"] not in _INSTRUCTING)
    return "\n".join(message["content"] for message in spoken if "content" in message)


def _message(message: Any, field: str) -> dict[str, Any]:
    if not isinstance(message, Mapping):
        raise _wrong(field, message, "must be an object with `role` and `content`")
    kept = {str(name): value for name, value in message.items() if value is not None}
    role = kept.get("role")
    if role not in ROLES:
        raise _wrong(f"{field}.role", role, f"must be one of {', '.join(ROLES)}")
    if "content" in kept:
        kept["content"] = _content(kept["content"], f"{field}.content")
    elif not (role == "assistant" and kept.get("tool_calls")):
        raise _wrong(f"{field}.content", None, "must be text")
    return kept


def _content(content: Any, field: str) -> str:
    if isinstance(content, str):
        return content
    if not isinstance(content, list | tuple):
        raise _wrong(field, content, "must be text")
    return "".join(_part(part, f"{field}[{index}]") for index, part in enumerate(content))


def _part(part: Any, field: str) -> str:
    if isinstance(part, Mapping) and part.get("type") == "text" and isinstance(part.get("text"), str):
        return str(part["text"])
    raise _wrong(field, part, 'must be of the form {"type": "text", "text": "…"}')


def _wrong(field: str, value: Any, wanted: str) -> InvalidInputError:
    shown = repr(value)
    shown = shown if len(shown) <= 60 else f"{shown[:57]}…"
    return InvalidInputError(f"{field} is {shown}; it {wanted}.", field=field)
