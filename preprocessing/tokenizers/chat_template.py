"""The chat template of a checkpoint's tokenizer."""

from __future__ import annotations

from datetime import date
from pathlib import Path

from models.contract.chat_template import ChatTemplate
from preprocessing.tokenizers.load import read_spec
from preprocessing.tokenizers.refusal import read_json_object

_CONFIG = "tokenizer_config.json"


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
    file = directory / _CONFIG
    config = read_json_object(file) if file.is_file() else {}
    bos, eos = (_content(config.get(name)) for name in ("bos_token", "eos_token"))
    return ChatTemplate(spec.chat_template, list(spec.specials), bos_token=bos, eos_token=eos, today=today)


def _content(token: object) -> str | None:
    """A token is given as its content or with its properties."""
    content = token.get("content") if isinstance(token, dict) else token
    return content if isinstance(content, str) else None
