"""TensorBoardWriter: curves, norms, attention maps and samples of a training, for TensorBoard."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import tensorflow as tf

from components.trainer.attention_heads import check_heads
from components.trainer.attention_maps import attention_maps
from components.trainer.language_model import LanguageModel
from components.trainer.sampler import Sampler
from components.trainer.training_config import TrainingConfig
from components.trainer.training_history import StepRecord, TrainingHistory
from components.trainer.validation_record import ValidationRecord
from models.contract.errors import ConfigError
from preprocessing.tokenizers.graph_tokenizer import GraphTokenizer

_RECENT = 5
"""Steps that the speed is averaged over."""

_MAP_TOKENS, _MAP_PIXELS = 64, 512


class TensorBoardWriter:
    """A StepHook that writes what `training.tensorboard` asks for.

    Args:
        config: of the training.
        history: of the training; a resumed run's earlier steps are written again, so that the curves
            are whole.
        folder: for the event file.
        tokenizer: of the checkpoint; needed for attention maps and samples only.
    """

    def __init__(
        self,
        config: TrainingConfig,
        history: TrainingHistory,
        folder: Path,
        tokenizer: GraphTokenizer | None = None,
    ) -> None:
        self._config = config
        self._history = history
        self._folder = folder
        self._tokenizer = tokenizer
        self._writer: tf.summary.SummaryWriter | None = None
        self._sampler: Sampler | None = None
        self._validations = 0

    def begin(self, model: LanguageModel) -> None:
        """Open the file and write what there is already.

        Raises:
            ConfigError: a chosen head does not exist, or a prompt is too long for the model.
        """
        self._prepare(model)
        self._writer = tf.summary.create_file_writer(str(self._folder))
        with self._writer.as_default():
            for count, record in enumerate(self._history.steps, 1):
                self._write_step(record, count)
            self._write_validations()
            if not self._history.steps:
                self._write_content(model, 0)

    def step_done(self, model: LanguageModel) -> None:
        """Write the step's figures, and now and then the costly content."""
        assert self._writer is not None
        step = len(self._history.steps)
        with self._writer.as_default():
            self._write_step(self._history.steps[-1], step)
            self._write_validations()
            if step % self._config.tensorboard.every_steps == 0 or step == self._config.steps:
                self._write_content(model, step)

    def state_saved(self) -> None:
        """Nothing depends on it."""

    def end(self) -> None:
        """Close the file."""
        if self._writer is not None:
            self._writer.close()

    def _prepare(self, model: LanguageModel) -> None:
        wanted, limits = self._config.tensorboard, model.decoder.config
        check_heads(wanted.attention, limits)
        if self._tokenizer is None:
            return
        self._sampler = Sampler(model.decoder, self._tokenizer)
        for prompt in wanted.samples:
            count = len(self._sampler.prompt_ids(prompt)) + wanted.sample_tokens
            if count > limits.max_length:
                raise ConfigError(
                    f"`training.tensorboard.samples`: {prompt[:40]!r} and {wanted.sample_tokens} tokens "
                    f"after it make {count} tokens, more than the model's context {limits.max_length}.",
                    field="training.tensorboard.samples",
                    remedy="Shorten the prompt or lower `training.tensorboard.sample_tokens`.",
                )

    def _write_step(self, record: StepRecord, count: int) -> None:
        speed = TrainingHistory(self._history.tokens_per_step, self._history.steps[:count])
        scalars = {
            "loss": record.loss,
            "learning_rate": record.learning_rate,
            "gradient_norm": record.gradient_norm,
            "tokens_per_second": speed.tokens_per_second(_RECENT),
        }
        for name, value in scalars.items():
            if value is not None:
                tf.summary.scalar(name, value, step=record.step)

    def _write_validations(self) -> None:
        new: list[ValidationRecord] = self._history.validations[self._validations :]
        for record in new:
            tf.summary.scalar("validation_loss", record.loss, step=record.step)
        self._validations += len(new)

    def _write_content(self, model: LanguageModel, step: int) -> None:
        norm = tf.linalg.global_norm([weight.value for weight in model.trainable_variables])
        tf.summary.scalar("weight_norm", norm, step=step)
        if self._sampler is None:
            return
        wanted = self._config.tensorboard
        if wanted.attention:
            ids = np.array(self._sampler.prompt_ids(wanted.attention_text)[:_MAP_TOKENS], np.int32)
            for (layer, head), weights in attention_maps(model.decoder, ids, wanted.attention).items():
                tf.summary.image(f"attention/layer_{layer}_head_{head}", _picture(weights), step=step)
        for index, prompt in enumerate(wanted.samples):
            text = self._sampler.continue_text(prompt, wanted.sample_tokens)
            tf.summary.text(f"sample/{index}", _block(prompt, text), step=step)


def _picture(weights: np.ndarray) -> np.ndarray:
    """[T, T] weights → [1, P, P, 1] brightness; the root lets weak attention be seen."""
    scale = max(1, _MAP_PIXELS // len(weights))
    return np.sqrt(weights.repeat(scale, 0).repeat(scale, 1))[None, ..., None]


def _block(prompt: str, text: str) -> str:
    """Markdown that shows text as it is: an indented block."""
    return "\n".join(f"    {line}" for line in f"{prompt}▸{text}".splitlines())
