"""AdamW with linear warm-up and a cosine, from Keras' own parts."""

from __future__ import annotations

from typing import Any

import keras

from components.trainer.measured_adamw import MeasuredAdamW
from components.trainer.training_config import TrainingConfig


@keras.saving.register_keras_serializable("tokenmill")
class UpdateSchedule(keras.optimizers.schedules.LearningRateSchedule):
    """Counts updates of the weights where Keras counts passes, which differ with accumulation.

    Args:
        schedule: learning rate by update.
        passes: forward and backward passes per update.
    """

    def __init__(self, schedule: keras.optimizers.schedules.LearningRateSchedule, passes: int) -> None:
        self.schedule = schedule
        self.passes = passes

    def __call__(self, step: Any) -> Any:
        """The learning rate of the update that pass number `step` belongs to."""
        return self.schedule(keras.ops.floor_divide(step, self.passes))

    def get_config(self) -> dict[str, Any]:
        """Arguments of the constructor."""
        return {"schedule": self.schedule, "passes": self.passes}


def learning_rate_schedule(config: TrainingConfig) -> UpdateSchedule:
    """Linear from `peak / (warm-up + 1)` to the peak, then a cosine that ends at the last update."""
    decay = max(1, config.steps - 1 - config.warmup_steps)
    alpha = config.final_learning_rate_fraction
    if config.warmup_steps:
        cosine = keras.optimizers.schedules.CosineDecay(
            config.learning_rate / (config.warmup_steps + 1),
            decay,
            alpha=alpha,
            warmup_target=config.learning_rate,
            warmup_steps=config.warmup_steps,
        )
    else:
        cosine = keras.optimizers.schedules.CosineDecay(config.learning_rate, decay, alpha=alpha)
    return UpdateSchedule(cosine, config.gradient_accumulation_steps)


def make_optimizer(config: TrainingConfig, weights: list[keras.Variable]) -> MeasuredAdamW:
    """AdamW for these weights, built; norms and biases (vectors) are not decayed."""
    passes = config.gradient_accumulation_steps
    optimizer = MeasuredAdamW(
        learning_rate=learning_rate_schedule(config),
        weight_decay=config.weight_decay,
        beta_1=config.beta_1,
        beta_2=config.beta_2,
        epsilon=config.epsilon,
        global_clipnorm=config.clip_norm,
        gradient_accumulation_steps=passes if passes > 1 else None,
    )
    optimizer.exclude_from_weight_decay(var_list=[weight for weight in weights if len(weight.shape) < 2])
    optimizer.build(weights)
    return optimizer
