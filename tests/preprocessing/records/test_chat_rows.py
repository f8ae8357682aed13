from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from models.contract.chat_template import ChatTemplate
from models.contract.errors import ConfigError, DataError
from models.contract.segment import LEARNED, SPECIAL
from preprocessing.records.record import Record
from tests.preprocessing.records.reading import faults, read

TEMPLATE = ChatTemplate(
    "{% for m in messages %}<|start|>{{ m.role }}\n{{ m.content }}<|end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|start|>assistant\n{% endif %}",
    ["<|start|>", "<|end|>"],
).to_json()


def chat(folder: Path, *messages: object) -> Path:
    (folder / "a.jsonl").write_text("".join(json.dumps({"messages": one}) + "\n" for one in messages))
    return folder / "a.jsonl"


def said(role: str, content: object) -> dict[str, object]:
    return {"role": role, "content": content}


def test_a_conversation_becomes_segments_of_which_the_answers_are_learned(tmp_path):
    path = chat(tmp_path, [said("user", "Käse?<|end|>"), said("assistant", "ja")])
    (record,) = read(path, format="chat", template=TEMPLATE)
    assert isinstance(record, Record)
    assert record.text.decode() == "<|start|>user\nKäse?<|end|><|end|>\n<|start|>assistant\nja<|end|>\n"
    assert b"".join(record.segments) == record.text
    by_kind = {
        kind: [t for t, k in zip(record.segments, record.kinds, strict=True) if k == kind]
        for kind in range(4)
    }
    assert by_kind[LEARNED] == [b"ja"]
    assert by_kind[SPECIAL | LEARNED] == [b"<|end|>"]
    assert "user\nKäse?<|end|>".encode() in by_kind[0]


@pytest.mark.parametrize(
    ("messages", "reason"),
    [
        ("hello", "wrong_type"),
        (None, "missing_field"),
        ([], "bad_messages"),
        (["hello"], "bad_messages"),
        ([{"content": "a"}], "bad_messages"),
        ([said("user", 5), said("assistant", "a")], "bad_messages"),
        ([said("user", "nobody answers")], "bad_messages"),
    ],
)
def test_what_is_no_conversation_is_a_broken_row(tmp_path, messages, reason):
    good = [said("user", "a"), said("assistant", "b")]
    found = read(chat(tmp_path, good, messages, good), format="chat", template=TEMPLATE)
    assert faults(found) == [(2, reason)]
    assert len(found) == 3


def test_without_a_template_conversations_are_refused(tmp_path):
    with pytest.raises(ConfigError, match=r"'s' holds conversations, but the model has no chat template"):
        read(chat(tmp_path, []), format="chat")


def test_a_text_that_looks_like_a_conversation_is_another_document(tmp_path):
    (record,) = read(
        chat(tmp_path, [said("user", "a"), said("assistant", "b")]), format="chat", template=TEMPLATE
    )
    assert isinstance(record, Record)
    assert record.digest() != Record(1, record.text).digest()


def test_conversations_in_parquet(tmp_path):
    rows = [[said("user", "Käse?"), said("assistant", "ja")], [said("user", "nobody answers")]]
    pq.write_table(pa.table({"messages": rows}), tmp_path / "a.parquet")
    found = read(tmp_path / "a.parquet", format="chat", template=TEMPLATE)
    assert isinstance(found[0], Record)
    assert found[0].said.decode() == "Käse?\nja"
    assert faults(found) == [(2, "bad_messages")]


def test_an_answer_of_calls_that_the_template_does_not_show_is_a_broken_row(tmp_path):
    call = {"role": "assistant", "content": None, "tool_calls": [{"name": "f"}]}
    (bad,) = read(chat(tmp_path, [said("user", "a"), call]), format="chat", template=TEMPLATE)
    assert "does not show this answer's tool_calls" in bad.detail


@pytest.mark.parametrize("name", ["a.csv", "a.tfrecord"])
def test_other_rows_hold_no_conversations(tmp_path, name):
    (tmp_path / name).write_text("messages\n")
    with pytest.raises(DataError, match="`format: chat` reads JSON Lines and Parquet"):
        read(tmp_path / name, format="chat", template=TEMPLATE)
