"""ChatTemplate: from the messages of a conversation to the segments that are tokenized."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime, time
from itertools import pairwise
from typing import Any, Self

from jinja2 import TemplateError, TemplateSyntaxError

from models.contract.answer_spans import Span, answer_spans, unmarked, with_end_marks
from models.contract.chat_environment import chat_environment
from models.contract.chat_messages import checked_messages
from models.contract.errors import CheckpointError, InvalidInputError
from models.contract.segment import Segment
from models.contract.special_guard import SpecialGuard

_FAULTS = (
    TemplateError,
    ArithmeticError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)
"""What a template's own mistakes, or data it does not expect, raise in it."""


class ChatTemplate:
    """A Jinja chat template, as Hugging Face tokenizers carry them, rendered to segments.

    Training, evaluation and serving tokenize the same segments, so a model meets in training exactly
    the ids it is asked with later. Only the template itself can write special tokens: in a message
    their names stay text.

    Args:
        source: Jinja.
        special_tokens: contents of the tokenizer's special tokens.
        bos_token: value of the template's `bos_token`; counts as a special token.
        eos_token: likewise.
        today: the date that `strftime_now` gives the template; that of the call if not given.

    Raises:
        CheckpointError: the source is no Jinja template.
    """

    def __init__(
        self,
        source: str,
        special_tokens: Sequence[str] = (),
        *,
        bos_token: str | None = None,
        eos_token: str | None = None,
        today: date | None = None,
    ) -> None:
        self._today = today
        self._source, self._bos, self._eos = source, bos_token or "", eos_token or ""
        self._specials = sorted({*special_tokens, self._bos, self._eos} - {""})
        self._guard = SpecialGuard(self._specials)
        try:
            self._template = chat_environment().from_string(source)
        except TemplateSyntaxError as error:
            raise CheckpointError(
                f"the chat template is not valid Jinja: {error.message} (line {error.lineno}).",
                field="chat_template",
                remedy="Correct `chat_template` beside the tokenizer.",
            ) from error

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The inverse of `to_json`."""
        fields = json.loads(text)
        today = fields.pop("today", None)
        return cls(**fields, today=None if today is None else date.fromisoformat(today))

    def to_json(self) -> str:
        """Everything that decides what it renders; equal templates give equal texts."""
        return json.dumps(
            {
                "source": self._source,
                "special_tokens": self._specials,
                "bos_token": self._bos,
                "eos_token": self._eos,
                "today": None if self._today is None else self._today.isoformat(),
            }
        )

    def render(
        self,
        messages: Sequence[Mapping[str, Any]],
        add_generation_prompt: bool = False,
        tools: Sequence[Mapping[str, Any]] | None = None,
    ) -> tuple[Segment, ...]:
        """Render a conversation.

        What is learned are the answers: the template's `{% generation %}` blocks, or, if it has none,
        what it puts between the prompt of a turn, as `add_generation_prompt` makes it, and the special
        token that ends the turn. Text on either side of such a border is tokenized apart, as in
        serving, where the prompt ends there.

        Args:
            messages: see `checked_messages`.
            add_generation_prompt: whether to end with the beginning of an answer; then it is a prompt
                to answer, and nothing in it is learned.
            tools: descriptions of tools, for templates that know them.

        Returns:
            Segments whose texts, joined, are the rendered conversation; text next to text only where
            `learned` differs.

        Raises:
            InvalidInputError: a message is not of the right form, the template refuses the
                conversation, or it does not show where an answer lies or the tools it calls.
        """
        now = datetime.now() if self._today is None else datetime.combine(self._today, time())
        plain = checked_messages(messages)
        try:
            checked = self._hidden(plain)
            offered = self._guard.hide(list(tools), "tools") if tools else None
        except RecursionError as error:
            raise InvalidInputError("a message is nested too deeply.", field="messages") from error

        def text_of(count: int, prompt: bool) -> str:
            return unmarked(self._text(checked[:count], prompt, offered, now))[0]

        whole = self._text(checked, add_generation_prompt, offered, now)
        given = list(tools) if tools else None
        self._check_text(whole, self._text(plain, add_generation_prompt, given, now))
        text, marked = unmarked(whole)
        specials = self._guard.find(text)
        if add_generation_prompt:
            return tuple(self._segments(text, specials, []))
        self._check_calls(checked, whole, offered, now)
        if marked:
            return tuple(self._segments(text, specials, with_end_marks(marked, specials)))
        answers = answer_spans(checked, text, specials, text_of, self._guard.find)
        return tuple(self._segments(text, specials, answers))

    def _hidden(self, messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """The messages with what people wrote hidden; a role is one of a few words, so it is not."""
        hidden: list[dict[str, Any]] = self._guard.hide(messages, "messages")
        return [{**copy, "role": message["role"]} for copy, message in zip(hidden, messages, strict=True)]

    def _check_text(self, hidden: str, plain: str) -> None:
        """Refuse a conversation whose text comes out changed by having been hidden."""
        if self._guard.show(hidden) != self._guard.show(plain):
            raise InvalidInputError(
                "the chat template works on a message's text in a way in which it cannot be told from "
                "control tokens.",
                field="messages",
                remedy="Take a chat template that shows messages as they are.",
            )

    def _text(
        self, messages: list[dict[str, Any]], prompt: bool, tools: list[Any] | None, now: datetime
    ) -> str:
        try:
            text = self._template.render(
                messages=messages,
                tools=tools,
                documents=None,
                add_generation_prompt=prompt,
                bos_token=self._bos,
                eos_token=self._eos,
                strftime_now=now.strftime,
            )
            return str.__str__(text)
        except _FAULTS as error:
            reason = self._guard.show(str(error)) or type(error).__name__
            raise InvalidInputError(
                f"the model's chat template refuses the conversation: {reason.rstrip('.')}.", field="messages"
            ) from error

    def _check_calls(
        self, messages: list[dict[str, Any]], text: str, tools: list[Any] | None, now: datetime
    ) -> None:
        """Refuse a conversation with calls that the template does not show: it would teach to be silent."""
        for index, message in enumerate(messages):
            if not (message["role"] == "assistant" and message.get("tool_calls")):
                continue
            bare = {"content": "", **{name: value for name, value in message.items() if name != "tool_calls"}}
            if self._text([*messages[:index], bare, *messages[index + 1 :]], False, tools, now) == text:
                raise InvalidInputError(
                    f"messages[{index}]: the chat template does not show this answer's tool_calls.",
                    field=f"messages[{index}].tool_calls",
                    remedy="Take a chat template that shows them, or leave the conversation out.",
                )

    def _segments(self, text: str, specials: Sequence[Span], learned: Sequence[Span]) -> Iterator[Segment]:
        """Cut the text at special tokens and at the borders of what is learned."""
        borders = {0, len(text), *(end for span in (*specials, *learned) for end in span)}
        own = set(specials)
        inside = {place for begin, end in specials for place in range(begin + 1, end)}
        for begin, end in pairwise(sorted(borders - inside)):
            answer = any(first <= begin < last for first, last in learned)
            yield Segment(self._guard.show(text[begin:end]), (begin, end) in own, answer)
