from __future__ import annotations

from pathlib import Path

import pytest

from models.decoder_config import DecoderConfig
from pipeline.end_mark import end_mark_warning
from tests.tiny import CHAT_TEMPLATE, write_tiny_checkpoint


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    return write_tiny_checkpoint(tmp_path / "checkpoint", num_layers=1)


def _warning(checkpoint: Path) -> str | None:
    return end_mark_warning(checkpoint, DecoderConfig.load(checkpoint))


def test_the_mark_that_generation_runs_past_is_named_with_the_remedy(checkpoint: Path):
    assert _warning(checkpoint) == (
        f"the chat template of {checkpoint} ends an answer with <|im_end|>, which is not among the "
        "checkpoint's end ids (0 <|endoftext|>): generation will run on past the answer. "
        "Add 2 to `eos_token_id` in generation_config.json."
    )


@pytest.mark.parametrize("ids", ["2", "[0, 2]"])
def test_a_mark_that_ends_generation_is_fine(checkpoint: Path, ids: str):
    (checkpoint / "generation_config.json").write_text(f'{{"eos_token_id": {ids}}}')
    assert _warning(checkpoint) is None


def test_an_answer_that_ends_with_text_is_named(checkpoint: Path):
    template = "{% for m in messages %}{{ m['role'] + ': ' + m['content'] + '\\n' }}{% endfor %}"
    prompt = "{% if add_generation_prompt %}{{ 'assistant: ' }}{% endif %}"
    (checkpoint / "chat_template.jinja").write_text(template + prompt)
    warning = _warning(checkpoint)
    assert warning is not None
    assert "ends an answer with no special token" in warning
    assert "Let the template write an end token" in warning


def test_without_a_template_or_with_one_that_refuses_there_is_nothing_to_say(checkpoint: Path):
    (checkpoint / "chat_template.jinja").write_text("{{ raise_exception('a system message is needed') }}")
    assert _warning(checkpoint) is None
    (checkpoint / "chat_template.jinja").write_text(CHAT_TEMPLATE)
    assert _warning(checkpoint) is not None
