"""Logits of PEFT's own LoRA adapters on the golden models, as goldens for tests.

Needs torch, transformers and peft; `--check` also this project:

    python scripts/make_adapter_goldens.py            # write tests/data/goldens/adapter_*.npz
    python scripts/make_adapter_goldens.py --check    # recompute; load in PEFT what this project saves
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import torch
from make_goldens import GOLDENS, VARIANTS, build, logits_of
from peft import LoraConfig, PeftModel, get_peft_model
from safetensors.numpy import load_file, save_file
from transformers import PreTrainedModel

CHECK_TOLERANCE, LOAD_TOLERANCE = 1e-5, 1e-4
ADAPTERS: dict[str, dict[str, Any]] = {
    "llama_untied_grouped": {"r": 4, "lora_alpha": 6, "target_modules": "all-linear"},
    "llama_tied_multihead": {"r": 3, "lora_alpha": 8, "target_modules": ["q_proj", "v_proj"]},
    "qwen2_no_window": {"r": 2, "lora_alpha": 4, "target_modules": ["k_proj", "up_proj", "down_proj"]},
    "gpt2_untied_narrow_mlp": {"r": 4, "lora_alpha": 4, "target_modules": ["c_attn", "mlp.c_proj"]},
}
"""Golden model → settings of its adapter."""


def base_of(name: str) -> PreTrainedModel:
    return build(VARIANTS[name], list(VARIANTS).index(name))


def golden(name: str) -> dict[str, np.ndarray]:
    """The adapter's files as PEFT writes them, and the adapted model's logits [2, 24, V]."""
    inputs_first = name.startswith("gpt2")
    settings = LoraConfig(**ADAPTERS[name], fan_in_fan_out=inputs_first, task_type="CAUSAL_LM")
    torch.manual_seed(0)
    model = get_peft_model(base_of(name), settings).eval()
    with torch.no_grad():
        for key, weight in model.named_parameters():
            if "lora_" in key:
                weight.normal_(0.0, 0.3)
    with np.load(GOLDENS / f"{name}.npz") as stored, tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        tensors = load_file(Path(folder) / "adapter_model.safetensors")
        config = json.loads((Path(folder) / "adapter_config.json").read_text(encoding="utf-8"))
        logits = logits_of(model, stored["ids"])
    arrays = {f"tensor/{key}": tensor for key, tensor in tensors.items()}
    config["target_modules"] = sorted(config["target_modules"])
    return {**arrays, "adapter_config": np.array(json.dumps(config, sort_keys=True)), "logits": logits}


def write() -> int:
    for name in ADAPTERS:
        np.savez_compressed(GOLDENS / f"adapter_{name}.npz", **golden(name))
    return 0


def check() -> int:
    worst_golden = worst_load = 0.0
    for name in ADAPTERS:
        with np.load(GOLDENS / f"adapter_{name}.npz") as file:
            stored = dict(file)
        worst_golden = max(worst_golden, _distance(golden(name)["logits"], stored["logits"]))
        with tempfile.TemporaryDirectory() as folder:
            _save_again(name, stored, Path(folder))
            model = PeftModel.from_pretrained(base_of(name), folder).eval()
        with np.load(GOLDENS / f"{name}.npz") as base:
            worst_load = max(worst_load, _distance(logits_of(model, base["ids"]), stored["logits"]))
    print(f"largest difference of a logit: {worst_golden:.2e}, allowed: {CHECK_TOLERANCE:.0e}")
    print(f"of adapters this project saved, in PEFT: {worst_load:.2e}, allowed: {LOAD_TOLERANCE:.0e}")
    return int(worst_golden > CHECK_TOLERANCE or worst_load > LOAD_TOLERANCE)


def _save_again(name: str, stored: dict[str, np.ndarray], folder: Path) -> None:
    """Load the golden adapter with this project's code and save it with it."""
    from models.decoder import Decoder
    from models.decoder_config import DecoderConfig
    from models.peft_format import load_adapter, save_adapter

    with np.load(GOLDENS / f"{name}.npz") as base:
        decoder = Decoder(DecoderConfig.from_hf(json.loads(str(base["config"]))), initializer="zeros")
    with tempfile.TemporaryDirectory() as source:
        tensors = {key[7:]: value for key, value in stored.items() if key.startswith("tensor/")}
        save_file(tensors, Path(source) / "adapter_model.safetensors")
        (Path(source) / "adapter_config.json").write_text(str(stored["adapter_config"]), encoding="utf-8")
        save_adapter(load_adapter(decoder, Path(source)), folder, base=name)


def _distance(one: np.ndarray, other: np.ndarray) -> float:
    return float(np.abs(one - other).max())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare with the stored files, write nothing")
    return check() if parser.parse_args().check else write()


if __name__ == "__main__":
    sys.exit(main())
