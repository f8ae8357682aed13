"""A tiny random Llama checkpoint whose tokenizer is a SentencePiece model file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from models.checkpoint_files import write_checkpoint, write_json
from tests.preprocessing.tokenizers import sentencepiece_models as models
from tests.tiny import TINY, tiny_tensors

CHAT_TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}{% if message['role'] == 'user' %}"
    "[INST]{{ message['content'] }}[/INST]{% else %}{{ message['content'] }}</s>{% endif %}{% endfor %}"
)


def write_sentencepiece_checkpoint(directory: Path, seed: int = 0) -> Path:
    """Write weights, tokenizer.model, tokenizer_config.json and generation_config.json; no tokenizer.json."""
    model = models.trained(vocab_size=400)
    config = replace(TINY, vocab_size=len(models.pieces(model)), num_layers=1, eos_ids=(2,))
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "tokenizer.model").write_bytes(model)
    settings = {"tokenizer_class": "LlamaTokenizer", "add_bos_token": True, "chat_template": CHAT_TEMPLATE}
    write_json(directory / "tokenizer_config.json", settings)
    write_json(directory / "generation_config.json", {"eos_token_id": 2})
    write_checkpoint(directory, config, tiny_tensors(config, seed))
    return directory
