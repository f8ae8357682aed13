"""The whole mill with GPT-2: from a checkpoint as the hub holds it to a trained one for transformers."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from models.checkpoint import load_checkpoint
from models.contract.manifest import Manifest
from tests.e2e.mill import Mill, make_mill, standing_in, tokenmill, tokenmill_json
from tests.tiny import write_tiny_checkpoint

pytestmark = pytest.mark.slow


def write_hub_checkpoint(directory: Path) -> None:
    """Tensors without the first part of their names, and a mask in each layer; no end ids in config.json."""
    write_tiny_checkpoint(directory, family="gpt2", num_kv_heads=4)
    tensors = load_file(directory / "model.safetensors")
    plain = {name.removeprefix("transformer."): tensor for name, tensor in tensors.items()}
    masks = {f"h.{layer}.attn.bias": np.tri(256, dtype=np.float32)[None, None] for layer in range(2)}
    save_file(plain | masks, directory / "model.safetensors")
    config = json.loads((directory / "config.json").read_text())
    del config["tie_word_embeddings"], config["eos_token_id"]
    (directory / "config.json").write_text(json.dumps({**config, "n_ctx": 256, "n_inner": 48}))


@pytest.fixture(scope="module")
def mill(tmp_path_factory: pytest.TempPathFactory) -> Mill:
    mill = make_mill(tmp_path_factory.mktemp("gpt2"))
    write_hub_checkpoint(mill.folder / "hub")
    return mill


def test_import_export_generate_run_and_export_hf(mill: Mill, capfd: pytest.CaptureFixture[str]):
    with standing_in(mill.folder):
        made = tokenmill_json(capfd, "import", "hf", "hub", "--out", "checkpoint")
        assert made["family"] == "gpt2"
        before = load_checkpoint(Path("checkpoint"))
        sizes = ("--max-length", "96", "--blocks", "16", "--block-size", "8")
        tokenmill("export", "--checkpoint", "checkpoint", "--out", "packages/gpt2", *sizes)
        answer = tokenmill_json(
            capfd, "generate", "--package", "packages/gpt2", "--temperature", "0", "--max-tokens", "5", "def"
        )
        assert 1 <= len(answer["ids"]) <= 5

        record = tokenmill_json(capfd, "run", "--config", str(mill.write("gpt2")))
        assert (record["state"], record["blessed"], record["servable"]) == ("pushed", True, True)
        assert record["perplexity"] < 0.5 * record["baseline_perplexity"]
        (version,) = (path for path in mill.push_base.iterdir() if path.name.isdecimal())
        assert Manifest.load(version).family == "gpt2"

        tokenmill("export-hf", "--package", str(version), "--out", "trained")
        trained = load_checkpoint(Path("trained"))
        assert trained.config == before.config
        ids = np.arange(12, dtype=np.int32)[None]
        assert np.abs(trained(ids) - before(ids)).max() > 0.1
