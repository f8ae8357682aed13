"""TrainingConfig: how the Trainer fine-tunes a checkpoint."""

from __future__ import annotations

import math
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from components.trainer.early_stopping_config import EarlyStoppingConfig
from components.trainer.lora_config import LoraConfig
from components.trainer.tensorboard_config import TensorBoardConfig
from components.trainer.training_validation_config import TrainingValidationConfig

_PEAKS = {"full": 1e-4, "lora": 1e-3}
"""Learning rate by method. Adapters start from nothing and want a higher one."""


def _default_peak(settings: dict[str, Any]) -> float:
    return _PEAKS[settings.get("method", "full")]


class TrainingConfig(BaseModel):
    """Fine-tuning in float32 with AdamW, linear warm-up and a cosine to the end."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    start_from: Literal["pretrained", "latest_blessed"] = Field(
        "pretrained",
        description="Weights to start from: `model.checkpoint`, or the newest blessed model of the push "
        "directory, if there is one with the same tokenizer.",
    )
    method: Literal["full", "lora"] = Field(
        "full",
        description="Train all weights, or low-rank adapters that are merged into them at the end.",
    )
    lora: LoraConfig = Field(default_factory=LoraConfig, description="The adapters of `method: lora`.")
    tokens: int = Field(
        70_000,
        ge=1,
        description="Training tokens in all, rounded up to whole steps. A corpus smaller than that is read "
        "again in another order.",
    )
    sequence_length: int = Field(
        512,
        ge=2,
        description="Tokens per row; documents packed into a row never attend to each other.",
    )
    batch_size: int = Field(2, ge=1, description="Rows per forward and backward pass; decides the memory.")
    gradient_accumulation_steps: int = Field(
        1, ge=1, description="Passes whose gradients are averaged into one step of the optimiser."
    )
    learning_rate: float = Field(
        default_factory=_default_peak,
        gt=0,
        le=1,
        description="Peak learning rate; by default 1e-4, and 1e-3 with `method: lora`.",
    )
    warmup_fraction: float = Field(
        0.1, ge=0, lt=1, description="Share of the steps in which the learning rate rises to its peak."
    )
    final_learning_rate_fraction: float = Field(
        0.1, ge=0, le=1, description="The cosine ends at this share of the peak."
    )
    weight_decay: float = Field(
        0.01, ge=0, lt=1, description="Decoupled decay of matrices; norms and biases are left alone."
    )
    beta_1: float = Field(0.9, ge=0, lt=1, description="Decay of AdamW's first moment.")
    beta_2: float = Field(0.95, ge=0, lt=1, description="Decay of AdamW's second moment.")
    epsilon: float = Field(1e-8, gt=0, description="Added to AdamW's denominator.")
    clip_norm: float = Field(1.0, gt=0, description="Gradients are scaled down to this global norm.")
    seed: int = Field(0, ge=0, description="Decides the order of the documents; the same seed, the same run.")
    document_end: str | None = Field(
        None,
        description="Special token put after each document. By default `<|endoftext|>` if the tokenizer has "
        "it, else its end-of-sequence token.",
    )
    save_every_steps: int = Field(
        25,
        ge=1,
        description="Steps between two saved states; an interrupted run goes on from the last. A state takes "
        "three times the trained weights' space on disk; two are kept.",
    )
    deterministic: bool = Field(
        True,
        description="Use deterministic ops only: the same run on the same machine gives the same weights, "
        "bit for bit.",
    )
    jit_compile: bool = Field(False, description="Compile the training step with XLA.")
    validation: TrainingValidationConfig = Field(
        default_factory=TrainingValidationConfig,
        description="The loss on held-out text while training.",
    )
    early_stopping: EarlyStoppingConfig | None = Field(
        None, description="When to end before the last step; by default all steps are made."
    )
    tensorboard: TensorBoardConfig = Field(
        default_factory=TensorBoardConfig, description="What TensorBoard shows besides the curves."
    )

    @model_validator(mode="after")
    def _stopping_needs_validation(self) -> Self:
        if self.early_stopping and not self.validation.every_steps:
            raise ValueError(
                "`early_stopping` needs a validation loss, but `validation.every_steps` is 0: raise it"
            )
        return self

    @model_validator(mode="after")
    def _adapters_need_their_method(self) -> Self:
        if self.method == "full" and self.lora != LoraConfig():
            raise ValueError(
                "`lora` sets adapters, but `method` is full, which has none: set `method: lora` or remove "
                "`lora`"
            )
        return self

    @property
    def tokens_per_step(self) -> int:
        """Tokens that one step of the optimiser sees, padding included."""
        return self.sequence_length * self.batch_size * self.gradient_accumulation_steps

    @property
    def steps(self) -> int:
        """Steps of the optimiser."""
        return math.ceil(self.tokens / self.tokens_per_step)

    @property
    def warmup_steps(self) -> int:
        """Steps in which the learning rate rises."""
        return int(self.warmup_fraction * self.steps)
