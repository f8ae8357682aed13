"""SamplePrompt: the beginning of held-out text that both models complete."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from components.perplexity_evaluator.eval_window import EvalWindow
from components.perplexity_evaluator.sample_config import SampleConfig

_LEAST_TOKENS = 4
"""Of a prompt, if it may be as long: after fewer a model can only guess what it is about."""


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
    """A fixed choice of different prompts: of different documents, long ones first, sources taking turns.

    Plain text is cut after `config.prompt_tokens`; of a conversation, all before an answer is the prompt.
    Documents too short for a prompt of four tokens are left out.

    Args:
        windows: of the evaluation, in their order made of hashes, so that the choice depends on the
            text alone and stays as long as the text does.
        config: how many and how long.
        max_length: most tokens of prompt and completion together.
    """
    room = max_length - config.max_tokens
    if room < 1:
        return []
    chosen = _one_per_document(windows, config, room)
    by_source: dict[str, list[SamplePrompt]] = defaultdict(list)
    for document in dict.fromkeys(window.document for window in windows):
        if document in chosen:
            by_source[chosen[document].source].append(chosen[document])
    rows = [
        sorted(by_source[name], key=lambda prompt: -min(len(prompt.ids), config.prompt_tokens))
        for name in sorted(by_source)
    ]
    return list(_in_turn(rows))[: config.prompts]


def _one_per_document(
    windows: Sequence[EvalWindow], config: SampleConfig, room: int
) -> dict[str, SamplePrompt]:
    """Prompts that differ, by document: of where an answer begins, or else of a long window."""
    least, enough = min(_LEAST_TOKENS, config.prompt_tokens, room), 2 * config.prompt_tokens
    seen: set[tuple[int, ...]] = set()
    chosen: dict[str, SamplePrompt] = {}
    for window in sorted(windows, key=lambda one: (one.answer_from is None, -min(len(one.ids), enough))):
        prompt = _prompt(window, config, room)
        fits = bool(prompt.reference) and len(prompt.ids) >= least
        if fits and window.document not in chosen and prompt.ids not in seen:
            seen.add(prompt.ids)
            chosen[window.document] = prompt
    return chosen


def _prompt(window: EvalWindow, config: SampleConfig, room: int) -> SamplePrompt:
    if window.answer_from is None:
        # Half of a short window is left to compare with, of a very short one less.
        half = max(len(window.ids) // 2, min(_LEAST_TOKENS, len(window.ids) - 1))
        start = min(config.prompt_tokens, half, room)
        ids = window.ids[:start]
    else:
        start = window.answer_from
        ids = window.ids[max(0, start - room) : start]
    rest = window.ids[start : start + config.max_tokens]
    return SamplePrompt(ids, rest, window.source, window.document)


def _in_turn(rows: Sequence[Sequence[SamplePrompt]]) -> Iterable[SamplePrompt]:
    for place in range(max(map(len, rows), default=0)):
        yield from (row[place] for row in rows if place < len(row))
