"""The sandbox in which chat templates run, with the conventions of Hugging Face's templates."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from typing import Any, NoReturn

from jinja2 import TemplateError, nodes
from jinja2.ext import Extension
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

from models.contract.special_guard import ANSWER_BEGIN, ANSWER_END


class AnswerBlock(Extension):
    """`{% generation %} … {% endgeneration %}`: what a model is to learn; marks its ends in the text."""

    tags = {"generation"}  # noqa: RUF012

    def parse(self, parser: Parser) -> nodes.Node:
        """The block as a call that wraps what it rendered."""
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return nodes.CallBlock(self.call_method("_marked"), [], [], body).set_lineno(line)

    def _marked(self, caller: Callable[[], str]) -> str:
        return f"{ANSWER_BEGIN}{caller()}{ANSWER_END}"


@cache
def chat_environment() -> ImmutableSandboxedEnvironment:
    """One environment for all templates: immutable data, no attributes that begin with `_`.

    Templates see `raise_exception`, loop controls and a `tojson` that escapes nothing,
    as those written for Hugging Face transformers expect (`apply_chat_template`).
    """
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[AnswerBlock, "jinja2.ext.loopcontrols"]
    )
    environment.filters["tojson"] = _to_json
    environment.globals["raise_exception"] = _raise_exception
    return environment


def _to_json(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    return json.dumps(
        value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys
    )


def _raise_exception(message: str) -> NoReturn:
    raise TemplateError(message)
