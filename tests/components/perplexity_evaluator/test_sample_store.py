from __future__ import annotations

from pathlib import Path

from components.perplexity_evaluator.completion import Completion
from components.perplexity_evaluator.sample_prompt import SamplePrompt
from components.perplexity_evaluator.sample_store import SampleStore

PROMPTS = [SamplePrompt((1, 2), (3,), "s", "d"), SamplePrompt((4,), (5,), "s", "e")]
FOUND = [Completion((7, 8), False), Completion((), True)]


def test_what_was_stored_is_found_for_the_same_model_prompts_and_length_only(tmp_path: Path):
    store = SampleStore(tmp_path / "new")
    assert store.get("m", PROMPTS, 9) is None
    store.put("m", PROMPTS, 9, FOUND)
    assert store.get("m", PROMPTS, 9) == FOUND
    assert store.get("other", PROMPTS, 9) is None
    assert store.get("m", PROMPTS[::-1], 9) is None
    assert store.get("m", PROMPTS, 8) is None


def test_a_broken_file_is_as_good_as_none(tmp_path: Path):
    store = SampleStore(tmp_path)
    store.put("m", PROMPTS, 9, FOUND)
    (file,) = tmp_path.iterdir()
    for text in ("", "[", '[{"ids": [1], "ended": true}]', '{"a": 1}', "3"):
        file.write_text(text)
        assert store.get("m", PROMPTS, 9) is None


def test_without_a_folder_nothing_is_kept():
    store = SampleStore(None)
    store.put("m", PROMPTS, 9, FOUND)
    assert store.get("m", PROMPTS, 9) is None
