"""run_fn: what TFX's Trainer calls, named to it by its dotted path."""

from __future__ import annotations

import gc
import json
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import keras

from components.baseline.lookup import checkpoint_fingerprint
from components.progress import report
from components.trainer.best_weights import BestWeights
from components.trainer.early_stopping import stop_summary
from components.trainer.hyperparameters import with_hyperparameters
from components.trainer.language_model import LanguageModel
from components.trainer.op_determinism import op_determinism
from components.trainer.optimizer import make_optimizer
from components.trainer.step_hook import StepHook
from components.trainer.tensorboard_writer import TensorBoardWriter
from components.trainer.training_config import TrainingConfig
from components.trainer.training_data import TrainingData, document_end, read_documents
from components.trainer.training_history import SUMMARY, TrainingHistory
from components.trainer.training_monitor import TrainingMonitor
from components.trainer.training_state import TrainingState
from components.trainer.validator import Validator
from models.checkpoint import load_checkpoint, save_checkpoint
from models.contract.errors import DataError
from models.decoder import Decoder
from models.lora.low_rank_adapters import LowRankAdapters
from models.peft_format import save_adapter
from preprocessing.tokenizers import load_tokenizer
from preprocessing.tokenizers.graph_tokenizer import GraphTokenizer

ADAPTER = "adapter"
"""Folder of the adapter in PEFT's format, in the model artifact, beside the merged checkpoint."""


def run_fn(fn_args: Any) -> None:
    """Fine-tune a checkpoint and write the result as a Hugging Face checkpoint directory.

    Args:
        fn_args: TFX's FnArgs. `custom_config` is made by `components.trainer.component.trainer`.

    Raises:
        DataError: there is nothing to train on.
        CheckpointError: the checkpoint or its tokenizer cannot be read.
        NotBlessedError: the loss became NaN or infinite.
    """
    options = fn_args.custom_config
    config = with_hyperparameters(TrainingConfig.model_validate(options["training"]), fn_args.hyperparameters)
    checkpoint, fingerprint = start_checkpoint(fn_args)
    data = training_data(fn_args.train_files, checkpoint, config)
    held_out = held_out_data(fn_args.eval_files, checkpoint, config)
    documents = documents_fingerprint(data, held_out)
    state = TrainingState(Path(options["state_directory"]), config, fingerprint, documents)
    decoder = load_checkpoint(checkpoint)
    adapters = attach_adapters(decoder, config)
    trained = {
        "method": config.method,
        "trained_parameters": adapters.num_parameters if adapters else decoder.config.num_parameters,
        "trainable_share": adapters.trainable_share if adapters else 1.0,
        "hyperparameters": (fn_args.hyperparameters or {}).get("values", {}),
    }
    history = train(
        decoder,
        data,
        config,
        Path(fn_args.model_run_dir),
        state,
        adapters=adapters,
        held_out=held_out,
        tokenizer=_board_tokenizer(checkpoint, config),
    )
    target = Path(fn_args.serving_model_dir)
    if adapters:
        save_adapter(adapters, target.parent / ADAPTER, base=str(checkpoint))
        adapters.merge()
    save_checkpoint(decoder, target, like=checkpoint)
    _write_summary(Path(fn_args.model_run_dir), history, data, config, trained)
    state.delete()
    # The next component runs in this process and needs the memory.
    del decoder
    keras.backend.clear_session()
    gc.collect()


def start_checkpoint(fn_args: Any) -> tuple[Path, str]:
    """The checkpoint to start from, that of an earlier component if there is one, and its fingerprint."""
    if fn_args.base_model:
        start = Path(fn_args.base_model)
        return start, checkpoint_fingerprint(start)
    options = fn_args.custom_config
    return Path(options["checkpoint"]), options["checkpoint_fingerprint"]


def attach_adapters(decoder: Decoder, config: TrainingConfig) -> LowRankAdapters | None:
    """The adapters that the configuration asks for, attached; None where all weights are trained.

    Raises:
        ConfigError: a target names no layer of this model.
    """
    if config.method == "full":
        return None
    lora = config.lora
    return LowRankAdapters(
        decoder, lora.rank, lora.alpha, lora.targets, dropout=lora.dropout, seed=config.seed
    )


def training_data(patterns: list[str], checkpoint: Path, config: TrainingConfig) -> TrainingData:
    """Documents of the transformed examples, with the marks of the checkpoint's tokenizer."""
    tokenizer = load_tokenizer(checkpoint)
    end = document_end(tokenizer.special_ids, tokenizer.eos_ids, config.document_end)
    begin = tokenizer.bos_id if tokenizer.add_bos else None
    return TrainingData(read_documents(patterns), end, begin, frozenset(tokenizer.special_ids.values()))


def held_out_data(patterns: list[str], checkpoint: Path, config: TrainingConfig) -> TrainingData | None:
    """Documents to validate on while training; None if the configuration asks for no validation.

    Raises:
        DataError: there are none.
    """
    if not config.validation.every_steps:
        return None
    try:
        return training_data(patterns, checkpoint, config)
    except DataError as error:
        raise DataError(
            "there is no held-out text to validate on while training.",
            field="corpus.eval_fraction",
            remedy="Add text to the corpus or raise `corpus.eval_fraction`.",
        ) from error


def documents_fingerprint(data: TrainingData, held_out: TrainingData | None) -> str:
    """Of all documents that decide a training: those of the validations decide when it stops."""
    return " ".join(one.fingerprint() for one in (data, held_out) if one is not None)


def _board_tokenizer(checkpoint: Path, config: TrainingConfig) -> GraphTokenizer | None:
    """The tokenizer, if something for TensorBoard needs it."""
    wanted = config.tensorboard.attention or config.tensorboard.samples
    return load_tokenizer(checkpoint) if wanted else None


@contextmanager
def _best_weights(state: TrainingState | None) -> Iterator[BestWeights]:
    """Where the best weights are kept: with the state, which needs them, else for this call only."""
    if state:
        yield state.best_weights
        return
    with tempfile.TemporaryDirectory() as folder:
        yield BestWeights(Path(folder))


def train(
    decoder: Decoder,
    data: TrainingData,
    config: TrainingConfig,
    log_directory: Path,
    state: TrainingState | None = None,
    callbacks: Sequence[keras.callbacks.Callback] = (),
    *,
    adapters: LowRankAdapters | None = None,
    held_out: TrainingData | None = None,
    tokenizer: GraphTokenizer | None = None,
) -> TrainingHistory:
    """Train a decoder in place for `config.steps` steps, from the newest saved state on.

    With `early_stopping` there may be fewer steps, and the weights are the best validated ones.

    Args:
        decoder: weights to start from; changed, unless there are adapters.
        data: documents.
        config: how to train.
        log_directory: for TensorBoard.
        state: where an interrupted run left its state, and where to save this one's; None keeps none.
        callbacks: called after the TrainingMonitor; a batch is one pass, of which a step may have several.
        adapters: attached to the decoder and trained instead of it, if given.
        held_out: documents to validate on; None validates nothing.
        tokenizer: of the checkpoint, for TensorBoard's attention maps and samples; None leaves them out.
    """
    model = LanguageModel(decoder, adapters)
    model.compile(optimizer=make_optimizer(config, model.trainable_variables), jit_compile=config.jit_compile)
    history = state.restore(model) if state else TrainingHistory(config.tokens_per_step)
    done = len(history.steps)
    start = f"resumed after step {done}" if done else f"{config.steps} steps, the first takes longer"
    report("training", done * config.tokens_per_step, config.steps * config.tokens_per_step, "tokens", start)
    with _best_weights(state) as best, op_determinism(config.deterministic):
        validator = Validator(config, held_out, history, best) if held_out else None
        hooks: list[StepHook] = [TensorBoardWriter(config, history, log_directory, tokenizer)]
        if validator:
            hooks.insert(0, validator)
        if done < config.steps and not (validator and validator.should_stop):
            model.fit(
                data.dataset(config, done),
                epochs=1,
                steps_per_epoch=(config.steps - done) * config.gradient_accumulation_steps,
                callbacks=[TrainingMonitor(config, history, state, hooks), *callbacks],
                verbose=0,
                shuffle=False,
            )
        if validator:
            validator.restore_best(model)
    return history


def _write_summary(
    folder: Path,
    history: TrainingHistory,
    data: TrainingData,
    config: TrainingConfig,
    trained: dict[str, Any],
) -> None:
    summary = {
        **history.summary(),
        **trained,
        "stop": stop_summary(config.early_stopping, history.validations, len(history.steps), config.steps),
        "corpus_documents": len(data.documents),
        "corpus_tokens": data.tokens,
        "corpus_learned_tokens": data.learned_tokens,
        "passes_over_corpus": round(len(history.steps) * config.tokens_per_step / data.tokens_per_pass, 3),
    }
    folder.mkdir(parents=True, exist_ok=True)
    (folder / SUMMARY).write_text(json.dumps(summary, indent=2) + "\n", encoding="utf-8")
