"""Projection: one linear layer of a checkpoint and where its outputs lie in the decoder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from models.checkpoint_files import output_widths, weight_names
from models.contract.errors import ConfigError
from models.decoder_config import DecoderConfig
from models.decoder_shapes import decoder_shapes

ALL_LINEAR = "all-linear"
"""Stands for every linear layer of the blocks; the head is none."""


@dataclass(frozen=True, slots=True)
class Projection:
    """A linear layer as the checkpoint names it; several lie side by side in one kernel of the decoder.

    Args:
        module: name of the layer in the checkpoint, e.g. `model.layers.0.self_attn.q_proj`.
        block: number of the decoder's block that holds it.
        kernel: name of the block's kernel [in, out] that holds it.
        start: first of the kernel's output columns that are this layer's.
        inputs: width of its input.
        outputs: width of its output.
    """

    module: str
    block: int
    kernel: str
    start: int
    inputs: int
    outputs: int

    @property
    def name(self) -> str:
        """The last part of the layer's name, e.g. `q_proj`."""
        return self.module.rpartition(".")[2]

    def is_named(self, target: str) -> bool:
        """Whether a target names this layer: its name, or the end of it after a dot, as in PEFT."""
        return self.module == target or self.module.endswith(f".{target}")


def projections(config: DecoderConfig) -> list[Projection]:
    """Every linear layer of a decoder's blocks, in the order of blocks, kernels and columns."""
    names = weight_names(config)
    found: list[Projection] = []
    for path, shape in decoder_shapes(config).items():
        room, _, rest = path.partition("/")
        if room != "blocks" or len(shape) != 2:
            continue
        block, _, kernel = rest.partition("/")
        widths = output_widths(path, config)
        starts = [0, *np.cumsum(widths).tolist()]
        for tensor, start, width in zip(names[path], starts, widths, strict=False):
            module = tensor.removesuffix(".weight")
            found.append(Projection(module, int(block), kernel, start, shape[0], width))
    return found


def select(layers: Sequence[Projection], targets: str | Sequence[str]) -> list[Projection]:
    """The layers that some target names.

    Args:
        layers: to choose from, of one decoder.
        targets: names as in `Projection.is_named`, or `all-linear`.

    Raises:
        ConfigError: a target names no layer, or there are no targets.
    """
    if targets == ALL_LINEAR:
        return list(layers)
    wanted = [targets] if isinstance(targets, str) else list(targets)
    known = ", ".join(dict.fromkeys(layer.name for layer in layers))
    lost = [target for target in wanted if not any(layer.is_named(target) for layer in layers)]
    if lost or not wanted:
        none = "there is no LoRA target." if not wanted else ""
        raise ConfigError(
            none or f"LoRA target {lost[0]!r} is no linear layer of this model.",
            field="training.lora.targets",
            remedy=f"Name some of {known}, or {ALL_LINEAR} for all of them.",
        )
    return [layer for layer in layers if any(layer.is_named(target) for target in wanted)]
