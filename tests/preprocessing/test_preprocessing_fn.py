from __future__ import annotations

import json

import pytest

from models.contract.errors import CheckpointError
from preprocessing.preprocessing_fn import TOKENIZER, TOKENIZER_FINGERPRINT, transform_config
from tests.tiny import write_tiny_checkpoint


def test_the_configuration_names_the_folder_and_what_decides_the_ids(tmp_path):
    checkpoint = write_tiny_checkpoint(tmp_path / "checkpoint")
    before = transform_config(checkpoint)
    assert before[TOKENIZER] == str(checkpoint)
    assert transform_config(checkpoint) == before
    file = checkpoint / "tokenizer.json"
    tokenizer = json.loads(file.read_text())
    tokenizer["model"]["merges"].pop()
    file.write_text(json.dumps(tokenizer))
    assert transform_config(checkpoint)[TOKENIZER_FINGERPRINT] != before[TOKENIZER_FINGERPRINT]


def test_a_folder_without_tokenizer_is_refused(tmp_path):
    with pytest.raises(CheckpointError, match=r"tokenizer\.json"):
        transform_config(tmp_path)
