"""The chat template of a checkpoint's tokenizer."""

from __future__ import annotations

from datetime import date
from pathlib import Path

from models.contract.chat_template import ChatTemplate
from preprocessing.tokenizers.control_ids import control_ids
from preprocessing.tokenizers.load import read_spec
from preprocessing.tokenizers.tokenizer_config import TokenizerConfig
from preprocessing.tokenizers.tokenizer_spec import SENTENCEPIECE


def load_chat_template(directory: Path, today: date | None = None) -> ChatTemplate | None:
    """The template with the special tokens it may write, or None if the tokenizer has none.

    Args:
        directory: a Hugging Face checkpoint.
        today: the date the template shows; that of the rendering if not given.

    Raises:
        CheckpointError: the tokenizer cannot be reproduced, or the template is no Jinja.
    """
    spec = read_spec(directory)
    if spec.chat_template is None:
        return None
    config = TokenizerConfig(directory)
    bos, eos = (config.content(name) for name in ("bos_token", "eos_token"))
    if spec.kind == SENTENCEPIECE:
        # A model file names them itself.
        names = {index: content for content, index in spec.specials.items()}
        bos = bos or names.get(spec.bos_id)
        eos = eos or next((names[index] for index in spec.eos_ids if index in names), None)
    return ChatTemplate(
        spec.chat_template, list(control_ids(spec)), bos_token=bos, eos_token=eos, today=today
    )
