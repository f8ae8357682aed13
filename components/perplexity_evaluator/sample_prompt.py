"""SamplePrompt: the beginning of held-out text that both models complete."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from components.perplexity_evaluator.eval_window import EvalWindow
from components.perplexity_evaluator.sample_config import SampleConfig


@dataclass(frozen=True, slots=True)
class SamplePrompt:
    """A prompt and what really follows it.

    Args:
        ids: the prompt's tokens.
        reference: the tokens of the held-out text that follow.
        source: part of the corpus it comes from.
        document: key of its document.
    """

    ids: tuple[int, ...]
    reference: tuple[int, ...]
    source: str
    document: str


def choose_prompts(
    windows: Sequence[EvalWindow], config: SampleConfig, max_length: int
) -> list[SamplePrompt]:
    """A fixed choice of prompts: of different documents, sources taking turns.

    Plain text is cut after `config.prompt_tokens`; of a conversation, all before an answer is the prompt.

    Args:
        windows: of the evaluation, in their order made of hashes, so that the choice depends on the
            text alone and stays as long as the text does.
        config: how many and how long.
        max_length: most tokens of prompt and completion together.
    """
    room = max_length - config.max_tokens
    if room < 1:
        return []
    first: dict[str, EvalWindow] = {}
    # Of a conversation, a window in which an answer begins.
    for window in sorted(windows, key=lambda window: window.answer_from is None):
        first.setdefault(window.document, window)
    by_source: dict[str, list[SamplePrompt]] = defaultdict(list)
    for window in (window for window in windows if first[window.document] is window):
        prompt = _prompt(window, config, room)
        if prompt.reference:
            by_source[prompt.source].append(prompt)
    return list(_in_turn([by_source[name] for name in sorted(by_source)]))[: config.prompts]


def _prompt(window: EvalWindow, config: SampleConfig, room: int) -> SamplePrompt:
    if window.answer_from is None:
        # Half of a short window is left to compare with.
        start = min(config.prompt_tokens, max(1, len(window.ids) // 2), room)
        ids = window.ids[:start]
    else:
        start = window.answer_from
        ids = window.ids[max(0, start - room) : start]
    rest = window.ids[start : start + config.max_tokens]
    return SamplePrompt(ids, rest, window.source, window.document)


def _in_turn(rows: Sequence[Sequence[SamplePrompt]]) -> Iterable[SamplePrompt]:
    for place in range(max(map(len, rows), default=0)):
        yield from (row[place] for row in rows if place < len(row))
