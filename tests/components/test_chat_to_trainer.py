"""Conversations from JSON Lines to the Trainer's rows, run by TFX, against transformers' own ids."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tfx import v1 as tfx
from transformers import PreTrainedTokenizerFast

from components.corpus_example_gen.component import corpus_example_gen
from components.corpus_example_gen.corpus_config import CorpusConfig
from components.perplexity_evaluator.held_out_document import read_documents as read_held_out
from components.trainer.document_store import DocumentStore
from components.trainer.run_fn import training_data
from components.trainer.training_config import TrainingConfig
from preprocessing.preprocessing_fn import PREPROCESSING_FN, transform_config
from tests.tiny import IM_END, write_tiny_checkpoint

CONFIG = TrainingConfig(sequence_length=64, batch_size=1)


def conversations() -> list[list[dict[str, str]]]:
    return [
        [
            {"role": "user", "content": f"What is the number after {number}?"},
            {"role": "assistant", "content": f"It is {number + 1}."},
            {"role": "user", "content": "And then?"},
            {"role": "assistant", "content": f"Then there is {number + 2}, ä🎉."},
        ]
        for number in range(100, 130)
    ]


def run(root: Path, folder: Path, checkpoint: Path) -> None:
    sources = [
        {"name": "chat", "path": str(folder / "chat.jsonl"), "format": "chat", "weight": 2.0},
        {"name": "text", "path": str(folder / "text")},
    ]
    config = CorpusConfig(
        sources=sources,
        eval_fraction=0.3,
        near_duplicates={"action": "off"},
        leakage={"action": "off"},
    )
    examples = corpus_example_gen(config, checkpoint=checkpoint)
    statistics = tfx.components.StatisticsGen(examples=examples.outputs["examples"])
    schema = tfx.components.SchemaGen(statistics=statistics.outputs["statistics"])
    transform = tfx.components.Transform(
        examples=examples.outputs["examples"],
        schema=schema.outputs["schema"],
        preprocessing_fn=PREPROCESSING_FN,
        custom_config=transform_config(checkpoint),
    )
    pipeline = tfx.dsl.Pipeline(
        pipeline_name="chat",
        pipeline_root=str(root),
        components=[examples, statistics, schema, transform],
        metadata_connection_config=tfx.orchestration.metadata.sqlite_metadata_connection_config(
            str(root / "metadata.sqlite")
        ),
    )
    tfx.orchestration.LocalDagRunner().run(pipeline)


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("chat")
    lines = [json.dumps({"messages": messages}) for messages in conversations()]
    (folder / "chat.jsonl").write_text("\n".join(lines))
    (folder / "text").mkdir()
    for number in range(10):
        (folder / "text" / f"t{number}.txt").write_text(f"The thing of number {number}.\n")
    checkpoint = write_tiny_checkpoint(folder / "checkpoint")
    run(folder / "root", folder, checkpoint)
    return {"root": folder / "root", "checkpoint": checkpoint}


def patterns(root: Path, split: str) -> list[str]:
    folder = next((root / "Transform/transformed_examples").iterdir())
    return [str(folder / f"Split-{split}" / "*")]


def reference(tokenizer: Any, messages: list[dict[str, str]]) -> tuple[list[int], list[int]]:
    """Ids of a conversation by transformers, and the ids of its answers with their end marks."""
    ids = tokenizer.apply_chat_template(messages, tokenize=True, return_dict=False)
    answers: list[int] = []
    for count in (1, 3):
        prompt = tokenizer.apply_chat_template(
            messages[:count], tokenize=True, add_generation_prompt=True, return_dict=False
        )
        end = ids.index(tokenizer.convert_tokens_to_ids(IM_END), len(prompt))
        assert ids[: len(prompt)] == prompt
        answers += ids[len(prompt) : end + 1]
    return ids, answers


def test_ids_are_those_of_transformers_and_answers_alone_are_learned(workspace):
    tokenizer = PreTrainedTokenizerFast.from_pretrained(workspace["checkpoint"])
    expected = sorted(reference(tokenizer, messages) for messages in conversations())
    found = []
    for split in ("train", "eval"):
        data = training_data(patterns(workspace["root"], split), workspace["checkpoint"], CONFIG)
        assert isinstance(data.documents, DocumentStore)
        chats = [document for document in data.documents if document.learned is not None]
        found += [(one.ids.tolist(), one.ids[one.learned].tolist()) for one in chats]
        assert {document.weight for document in chats} == {2.0}
        assert {document.weight for document in data.documents if document.learned is None} == {1.0}
    assert sorted(found) == expected


def test_a_pass_of_packed_rows_learns_each_answer_as_often_as_its_source_weighs(workspace):
    data = training_data(patterns(workspace["root"], "train"), workspace["checkpoint"], CONFIG)
    documents = list(data.documents)
    once = [document.framed(data.end_id)[1][1:].sum() * document.weight for document in documents]
    sizes = [document.framed_length() * document.weight for document in documents]
    rows = list(itertools.islice(data.rows(CONFIG), int(sum(sizes)) // CONFIG.sequence_length))
    learned = sum(row.weights.sum() for row in rows)
    # The last row of a pass is shared with the next one.
    assert sum(once) - CONFIG.sequence_length <= learned <= sum(once)


def test_held_out_conversations_come_with_their_segments(workspace):
    folder = next((workspace["root"] / "CorpusExampleGen/examples").iterdir())
    documents = read_held_out(folder)
    chats = [document for document in documents if document.segments]
    assert {document.source for document in chats} == {"chat"}
    assert chats
    for document in chats:
        assert "".join(segment.text for segment in document.segments).encode() == document.text
        assert sum(segment.learned and segment.special for segment in document.segments) == 2
    assert np.mean([bool(document.segments) for document in documents]) < 1
