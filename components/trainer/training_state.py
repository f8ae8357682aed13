"""TrainingState: trained weights, optimiser and position of an interrupted run, on disk."""

from __future__ import annotations

import hashlib
import json
import logging
import shutil
import time
from pathlib import Path

import tensorflow as tf

from components.trainer.best_weights import BestWeights
from components.trainer.early_stopping import EarlyStopping
from components.trainer.language_model import LanguageModel
from components.trainer.training_config import TrainingConfig
from components.trainer.training_history import TrainingHistory
from models.contract.errors import DataError

_KEPT = 2
_HISTORY = "history.json"
_HARMLESS = {"save_every_steps", "jit_compile", "tensorboard"}
"""Settings that do not change what is computed: a run may be resumed with others."""

_FORGOTTEN_AFTER_SECONDS = 7 * 24 * 3600

_UNREADABLE = (tf.errors.OpError, OSError, LookupError, RuntimeError, ValueError)
"""What TensorFlow raises for files that are missing, cut short or altered; not all are its own errors."""

_log = logging.getLogger("tokenmill")


class TrainingState:
    """Saved states of one training run; the newest readable one is restored.

    The folder's name is a hash of everything that decides the result, so a run with another
    configuration, checkpoint or corpus never takes up this one. States of other runs that nobody took
    up for a week are deleted when this one is saved first.

    Args:
        base: folder that holds the states of all runs.
        config: of the training.
        checkpoint: fingerprint of the weights it starts from.
        data: fingerprint of the documents, those to validate on included.
    """

    def __init__(self, base: Path, config: TrainingConfig, checkpoint: str, data: str) -> None:
        decisive = config.model_dump_json(exclude=_HARMLESS)
        name = hashlib.sha256(f"{decisive}\n{checkpoint}\n{data}".encode()).hexdigest()[:16]
        self.directory = base / name
        self.best_weights = BestWeights(self.directory / "best")
        self._config = config

    def restore(self, model: LanguageModel) -> TrainingHistory:
        """Load the newest state that can be read into the model and its optimiser, if there is one.

        A damaged state is passed over with a warning; if none is left, training starts anew.

        Returns:
            History of the steps done; empty at the start.
        """
        manager = self._manager(model)
        for path in reversed(manager.checkpoints):
            try:
                history = self._read(path, manager.checkpoint)
            except (DataError, *_UNREADABLE) as error:
                reason = str(error).splitlines()[0] if str(error) else type(error).__name__
                _log.warning("saved training state %s cannot be used and is passed over: %s", path, reason)
                continue
            manager.checkpoint.restore(path).assert_consumed()
            return history
        if manager.checkpoints:
            _log.warning("no saved training state in %s can be used: training starts anew", self.directory)
            self.delete()
        return TrainingHistory(self._config.tokens_per_step)

    def _read(self, path: str, expected: tf.train.Checkpoint) -> TrainingHistory:
        """The state's history, after everything it needs was read once: nothing is half restored."""
        history = TrainingHistory.read(self.directory / _HISTORY, int(path.rpartition("-")[2]))
        reader = tf.train.load_checkpoint(path)
        shapes = reader.get_variable_to_shape_map()
        for name in shapes:
            # Its checksum is compared by that.
            reader.get_tensor(name)
        for index, variable in enumerate(expected.variables):
            saved = shapes[f"variables/{index}/.ATTRIBUTES/VARIABLE_VALUE"]
            if saved != variable.shape.as_list():
                raise ValueError(f"variable {index} is {saved}, not {variable.shape.as_list()}")
        stopping = self._config.early_stopping
        best = EarlyStopping(stopping).best(history.validations) if stopping else None
        if best is not None and not self.best_weights.are_readable(best.step):
            raise ValueError(f"the best weights, of step {best.step}, cannot be read")
        return history

    def save(self, model: LanguageModel, history: TrainingHistory) -> None:
        """Save the state after the history's last step; older ones but one are deleted.

        A state becomes the newest only once all of its files are there.
        """
        if not (self.directory / _HISTORY).exists():
            self._forget_old()
            self.directory.mkdir(parents=True, exist_ok=True)
        (self.directory / "config.json").write_text(json.dumps(self._config.model_dump(), indent=2) + "\n")
        history.write(self.directory / _HISTORY)
        self._manager(model).save(checkpoint_number=len(history.steps))

    def delete(self) -> None:
        """Remove all states of this run."""
        shutil.rmtree(self.directory, ignore_errors=True)

    def _forget_old(self) -> None:
        limit = time.time() - _FORGOTTEN_AFTER_SECONDS
        others = self.directory.parent.iterdir() if self.directory.parent.is_dir() else ()
        for folder in others:
            # Some best weights may be there before the first state is.
            history = folder / _HISTORY
            last = (history if history.exists() else folder).stat().st_mtime
            if folder != self.directory and last < limit:
                shutil.rmtree(folder, ignore_errors=True)

    def _manager(self, model: LanguageModel) -> tf.train.CheckpointManager:
        # By position: Keras' names of variables differ from one model object to the next. What is
        # frozen is not saved: the checkpoint that it comes from is part of the folder's name.
        variables = [*model.trainable_variables, *model.optimizer.variables]
        checkpoint = tf.train.Checkpoint(variables=[variable.value for variable in variables])
        return tf.train.CheckpointManager(checkpoint, str(self.directory), max_to_keep=_KEPT)
