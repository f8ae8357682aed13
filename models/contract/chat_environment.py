"""The sandbox in which chat templates run, with the conventions of Hugging Face's templates."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import cache, wraps
from typing import Any, NoReturn

from jinja2 import TemplateError, nodes
from jinja2.compiler import CodeGenerator, Frame, optimizeconst
from jinja2.ext import Extension
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

from models.contract.guarded_text import guarded, hidden, joined, shown
from models.contract.special_guard import ANSWER_BEGIN, ANSWER_END

_NOT_ASCII = re.compile("[^\x00-\x7f]")
_ESCAPED = re.compile('[\x00-\x1f"\\\\]')


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


class _Generator(CodeGenerator):
    """Texts that `~` joins keep the origin of their characters."""

    @optimizeconst
    def visit_Concat(self, node: nodes.Concat, frame: Frame) -> None:  # noqa: N802
        if frame.eval_ctx.volatile or frame.eval_ctx.autoescape:
            super().visit_Concat(node, frame)
            return
        self.write("environment.concat((")
        for part in node.nodes:
            self.visit(part, frame)
            self.write(", ")
        self.write("))")


class _Environment(ImmutableSandboxedEnvironment):
    """A sandbox in which text of messages stays `GuardedText` whatever a template does with it."""

    code_generator_class = _Generator
    concat = staticmethod(joined)

    def call(self, *arguments: Any, **named: Any) -> Any:
        """Call a function or method of a template."""
        return guarded(super().call(*arguments, **named))


@cache
def chat_environment() -> ImmutableSandboxedEnvironment:
    """One environment for all templates: immutable data, no attributes that begin with `_`.

    Templates see `raise_exception`, loop controls and a `tojson` that escapes nothing,
    as those written for Hugging Face transformers expect (`apply_chat_template`).
    """
    environment = _Environment(
        trim_blocks=True, lstrip_blocks=True, extensions=[AnswerBlock, "jinja2.ext.loopcontrols"]
    )
    environment.filters["tojson"] = _to_json
    environment.filters.update({name: _guarding(each) for name, each in environment.filters.items()})
    environment.globals["raise_exception"] = _raise_exception
    return environment


def _to_json(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    text = json.dumps(value, ensure_ascii=False, indent=indent, separators=separators, sort_keys=sort_keys)
    return _NOT_ASCII.sub(lambda found: _json_letter(found[0], ensure_ascii), text)


def _json_letter(letter: str, ensure_ascii: bool) -> str:
    """What stands in JSON for a letter that is not ASCII, or for one that was hidden."""
    real = shown(letter)
    if _ESCAPED.match(real) or (ensure_ascii and not real.isascii()):
        return hidden(json.dumps(real)[1:-1])
    return letter


def _guarding(function: Callable[..., Any]) -> Callable[..., Any]:
    """A filter whose result keeps the origin of its characters."""

    @wraps(function)
    def call(*arguments: Any, **named: Any) -> Any:
        return guarded(function(*arguments, **named))

    return call


def _raise_exception(message: str) -> NoReturn:
    raise TemplateError(message)
