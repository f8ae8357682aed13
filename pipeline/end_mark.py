"""Whether generation ends where a chat template ends an answer."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

from models.contract.chat_template import ChatTemplate
from models.contract.errors import InvalidInputError
from models.contract.segment import Segment
from models.decoder_config import DecoderConfig
from preprocessing.tokenizers.chat_template import load_chat_template
from preprocessing.tokenizers.control_ids import control_ids
from preprocessing.tokenizers.load import read_spec

_EXCHANGE = ({"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hello there"})


def end_mark_warning(checkpoint: Path, decoder: DecoderConfig) -> str | None:
    """What is wrong if answers learned from conversations will not end generation; None if they will.

    Args:
        checkpoint: Hugging Face directory, whose chat template is asked for one answer.
        decoder: its config.

    Raises:
        CheckpointError: the tokenizer cannot be reproduced or the template is not valid.
    """
    template = load_chat_template(checkpoint)
    last = _answer_end(template) if template else None
    if last is None:
        return None
    spec = read_spec(checkpoint)
    ends = decoder.eos_ids or spec.eos_ids
    known = control_ids(spec)
    if last.special and known.get(last.text) in ends:
        return None
    return (
        f"the chat template of {checkpoint} ends an answer with {_fault(last, ends, known)}: "
        f"generation will run on past the answer. {_remedy(last, known)}"
    )


def _answer_end(template: ChatTemplate) -> Segment | None:
    """The last segment of a learned answer; None if the template refuses so plain a conversation."""
    try:
        learned = [segment for segment in template.render(_EXCHANGE) if segment.learned]
    except InvalidInputError:
        return None
    return learned[-1] if learned else None


def _fault(last: Segment, ends: Collection[int], specials: Mapping[str, int]) -> str:
    if not last.special:
        return "no special token"
    names = {index: token for token, index in specials.items()}
    known = ", ".join(f"{index} {names[index]}" if index in names else str(index) for index in ends)
    return f"{last.text}, which is not among the checkpoint's end ids ({known or 'it has none'})"


def _remedy(last: Segment, specials: Mapping[str, int]) -> str:
    if last.special and last.text in specials:
        return f"Add {specials[last.text]} to `eos_token_id` in generation_config.json."
    return "Let the template write an end token of the tokenizer after each answer."
