"""Reads the tokenizer of a checkpoint that has a SentencePiece model file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from models.contract.chat_template import ChatTemplate
from models.contract.errors import InvalidInputError
from models.contract.segment import Segment
from preprocessing.tokenizers.refusal import refusal
from preprocessing.tokenizers.sentencepiece_file import SentencepieceFile, read_sentencepiece
from preprocessing.tokenizers.sentencepiece_proto import PieceType
from preprocessing.tokenizers.special_matcher import overlapping
from preprocessing.tokenizers.tokenizer_config import TokenizerConfig
from preprocessing.tokenizers.tokenizer_spec import SENTENCEPIECE, TokenizerSpec
from preprocessing.tokenizers.word_pattern import WordPattern

_ADDED = "added_tokens_decoder"
_TURNS = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
_CALL = {"type": "function", "id": "call00000", "function": {"name": "f", "arguments": {"x": "y"}}}
_CALLS = [
    *({"role": "user", "content": "a"}, {"role": "assistant", "content": "", "tool_calls": [_CALL]}),
    {"role": "tool", "name": "f", "tool_call_id": "call00000", "content": "c"},
]
_TOOL = {"type": "function", "function": {"name": "f", "description": "d", "parameters": {"type": "object"}}}
_PROBES: list[tuple[list[dict[str, Any]], list[dict[str, Any]] | None]] = [
    (_TURNS[:1], None),
    ([*_TURNS, *_TURNS[:1]], None),
    ([{"role": "system", "content": "s"}, *_TURNS, *_TURNS[:1]], None),
    (_TURNS[:1], [_TOOL]),
    (_CALLS, [_TOOL]),
    (_CALLS, None),
]
"""Conversations, and the tools offered in them, that templates know."""


def read_sentencepiece_checkpoint(file: Path) -> TokenizerSpec:
    """Read a model file and the configuration beside it.

    Special tokens are the control pieces, the added tokens, and the pieces that the configuration
    names as special: in the graph these are control pieces too, so that no text becomes them.

    Raises:
        CheckpointError: see `load_tokenizer`.
    """
    model = read_sentencepiece(file)
    config = TokenizerConfig.beside(file)
    _check_config(config, model)
    specials = _specials(config, model)
    content = overlapping(specials)
    if content:
        raise refusal(file, "pieces", content, "special tokens that cannot overlap in a text")
    template = config.chat_template()
    _check_template(file, template, model, specials)
    spec = model.spec(specials)
    ids = {**model.ids, **specials}
    bos, eos = config.content("bos_token") or model.bos, config.content("eos_token") or model.eos
    default = bos is not None and config.get("add_bos_token") is None and config.puts_bos_first()
    return TokenizerSpec(
        kind=SENTENCEPIECE,
        vocab=model.ids,
        merges=(),
        specials=specials,
        pattern=WordPattern.GPT2,
        bos_id=config.token_id("bos_token", bos, ids, file.name),
        add_bos=default or config.add_bos(bos),
        eos_ids=config.eos_ids(config.token_id("eos_token", eos, ids, file.name)),
        chat_template=template,
        sentencepiece=spec,
    )


def _check_config(config: TokenizerConfig, model: SentencepieceFile) -> None:
    """Refuse settings by which transformers would change what the model file says."""
    if config.get("add_eos_token"):
        raise config.refuse("add_eos_token", "false")
    if config.get("sp_model_kwargs"):
        raise config.refuse("sp_model_kwargs", "{}")
    space = config.get("add_prefix_space")
    if space is not None and bool(space) != model.adds_space:
        raise config.refuse("add_prefix_space", f"{model.adds_space}, as the model file has it".lower())


def _specials(config: TokenizerConfig, model: SentencepieceFile) -> dict[str, int]:
    """Content of each special token → id."""
    specials = model.control
    added = config.added_tokens()
    for index, token in sorted(added.items()):
        if _check_added(config, model, index, token):
            specials[token["content"]] = index
    for name, content in config.roles():
        index = model.ids.get(content)
        if index is None and content not in specials:
            supported = f"a piece of {model.path.name} or a token of `{_ADDED}`"
            raise refusal(config.file, name, content, supported)
        if index is not None and model.type_of(index) != PieceType.UNKNOWN:
            specials[content] = index
    return specials


def _check_added(
    config: TokenizerConfig, model: SentencepieceFile, index: int, token: dict[str, Any]
) -> bool:
    """Whether an added token is special; refuse one that text would become and the model does not know."""
    content, special = token.get("content"), token.get("special", False)
    field = f"{_ADDED}[{index}]"
    if not content or index != model.ids.get(content, max(index, len(model.ids))):
        raise refusal(config.file, field, content, f"the piece of {model.path.name} with this id")
    if not special:
        if content not in model.ids:
            raise refusal(config.file, f"{field}.special", special, f"true, or pieces of {model.path.name}")
        return False
    kind = model.type_of(index) if content in model.ids else PieceType.CONTROL
    if kind == PieceType.BYTE:
        raise refusal(config.file, f"{field}.special", special, "false for a byte piece")
    for flag in ("single_word", "lstrip", "rstrip"):
        if token.get(flag) and kind != PieceType.UNKNOWN:
            raise refusal(config.file, f"{field}.{flag}", True, "false")
    return kind != PieceType.UNKNOWN


def _check_template(
    file: Path, template: str | None, model: SentencepieceFile, specials: dict[str, int]
) -> None:
    """Refuse a template that marks turns with pieces which a message can write too."""
    if template is None:
        return
    pieces = model.of_type(PieceType.USER_DEFINED).keys() - specials.keys()
    marks = sorted(piece for piece in pieces if _is_mark(piece))
    written = [piece for piece in marks if piece in template] or _written(template, marks, specials)
    if written:
        supported = f"templates whose marks are control pieces; list {written[0]!r} as special in `{_ADDED}`"
        raise refusal(file, "chat_template", written[0], supported)


def _is_mark(piece: str) -> bool:
    return len(piece) > 2 and not (piece[0].isalnum() or piece[-1].isalnum()) and bool(piece.strip())


def _written(template: str, marks: list[str], specials: dict[str, int]) -> list[str]:
    """Marks that the template puts together itself in conversations of the usual forms."""
    chat = ChatTemplate(template, [*marks, *specials])
    segments = [segment for probe in _PROBES for segment in _rendered(chat, *probe)]
    return [segment.text for segment in segments if segment.special and segment.text in marks]


def _rendered(
    chat: ChatTemplate, messages: list[dict[str, Any]], tools: list[dict[str, Any]] | None
) -> tuple[Segment, ...]:
    try:
        return chat.render(messages, add_generation_prompt=True, tools=tools)
    except InvalidInputError:
        return ()
