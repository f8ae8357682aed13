"""The first half of the pipeline on a tiny corpus and a tiny checkpoint, run by TFX."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tfx import v1 as tfx

from components.corpus_example_gen.component import corpus_example_gen
from components.corpus_example_gen.corpus_config import CorpusConfig
from components.trainer.component import trainer
from components.trainer.training_config import TrainingConfig
from models.checkpoint import load_checkpoint
from preprocessing.preprocessing_fn import PREPROCESSING_FN, transform_config
from preprocessing.tokenizers import load_tokenizer
from tests.tiny import write_tiny_checkpoint

TRAINING = TrainingConfig(
    tokens=4 * 64, sequence_length=32, batch_size=2, learning_rate=1e-3, save_every_steps=2
)


def write_corpus(folder: Path) -> dict[str, str]:
    """Ten groups of two files each."""
    texts = {}
    for group in range(10):
        for name in ("a", "b"):
            path = f"package_{group}/{name}.py"
            texts[path] = (
                f"def function_{group}_{name}(the_thing):\n    return the_thing + {group} # ä🎉\n" * 3
            )
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(texts[path], encoding="utf-8")
    return texts


def run(root: Path, corpus: Path, checkpoint: Path) -> None:
    config = CorpusConfig(sources=[{"name": "tiny", "path": str(corpus)}], eval_fraction=0.3)
    examples = corpus_example_gen(config)
    statistics = tfx.components.StatisticsGen(examples=examples.outputs["examples"])
    schema = tfx.components.SchemaGen(statistics=statistics.outputs["statistics"])
    validator = tfx.components.ExampleValidator(
        statistics=statistics.outputs["statistics"], schema=schema.outputs["schema"]
    )
    transform = tfx.components.Transform(
        examples=examples.outputs["examples"],
        schema=schema.outputs["schema"],
        preprocessing_fn=PREPROCESSING_FN,
        custom_config=transform_config(checkpoint),
    )
    train = trainer(
        TRAINING,
        checkpoint,
        examples=transform.outputs["transformed_examples"],
        transform_graph=transform.outputs["transform_graph"],
        schema=schema.outputs["schema"],
        state_directory=root / "state",
    )
    pipeline = tfx.dsl.Pipeline(
        pipeline_name="half",
        pipeline_root=str(root / "artifacts"),
        components=[examples, statistics, schema, validator, transform, train],
        enable_cache=True,
        metadata_connection_config=tfx.orchestration.metadata.sqlite_metadata_connection_config(
            str(root / "metadata.sqlite")
        ),
    )
    tfx.orchestration.LocalDagRunner().run(pipeline)


def transformed(root: Path, split: str) -> list[dict[str, Any]]:
    folder = next((root / "artifacts/Transform/transformed_examples").iterdir()) / f"Split-{split}"
    files = [str(path) for path in folder.iterdir()]
    return [
        dict(tf.train.Example.FromString(record).features.feature)
        for record in tf.data.TFRecordDataset(files, compression_type="GZIP").as_numpy_iterator()
    ]


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("half")
    texts = write_corpus(folder / "corpus")
    checkpoint = write_tiny_checkpoint(folder / "checkpoint")
    run(folder / "root", folder / "corpus", checkpoint)
    return {"root": folder / "root", "corpus": folder / "corpus", "checkpoint": checkpoint, "texts": texts}


def test_transform_gives_the_serving_tokenizers_ids_for_every_document(workspace):
    tokenizer = load_tokenizer(workspace["checkpoint"])
    seen = {}
    for split in ("train", "eval"):
        for example in transformed(workspace["root"], split):
            path = example["path"].bytes_list.value[0].decode()
            seen[path] = list(example["ids"].int64_list.value)
            assert example["group"].bytes_list.value[0].decode() == path.split("/")[0]
            assert example["source"].bytes_list.value[0] == b"tiny"
            assert example["bytes"].int64_list.value[0] == len(workspace["texts"][path].encode())
    texts = workspace["texts"]
    assert seen == {p: tokenizer.encode(tf.constant([text]))[0].numpy().tolist() for p, text in texts.items()}


def test_the_trainer_leaves_a_checkpoint_a_summary_and_no_state(workspace):
    root = workspace["root"]
    model = next((root / "artifacts/Trainer/model").iterdir()) / "Format-Serving"
    trained, pretrained = load_checkpoint(model), load_checkpoint(workspace["checkpoint"])
    assert not np.array_equal(trained.embedding.numpy(), pretrained.embedding.numpy())
    assert load_tokenizer(model).fingerprint == load_tokenizer(workspace["checkpoint"]).fingerprint
    model_run = next((root / "artifacts/Trainer/model_run").iterdir())
    summary = json.loads((model_run / "training_summary.json").read_text())
    assert (summary["steps"], summary["tokens"], summary["resumed_at"]) == (4, 256, [])
    assert np.isfinite(summary["final_loss"])
    assert len(summary["loss_curve"]) == 4
    assert summary["corpus_documents"] == len(transformed(root, "train"))
    assert list(model_run.glob("events.out.tfevents*"))
    assert not list((root / "state").glob("*"))


def test_the_cache_answers_an_unchanged_run(workspace):
    root = workspace["root"]
    executions = {path.parent.name: path.name for path in root.glob("artifacts/*/*/*")}
    run(root, workspace["corpus"], workspace["checkpoint"])
    assert {path.parent.name: path.name for path in root.glob("artifacts/*/*/*")} == executions
