"""The corpus ExampleGen's executor on every format at once, spans, dead letters and refusals."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import tensorflow as tf
from tfx.dsl.components.base.base_beam_executor import BaseBeamExecutor
from tfx.types import standard_artifacts

from components.corpus_example_gen.component import corpus_example_gen
from components.corpus_example_gen.corpus_config import CorpusConfig
from components.corpus_example_gen.executor import CorpusExampleGenExecutor
from models.contract.errors import ConfigError, DataError
from models.contract.segment import LEARNED
from tests.tiny import write_tiny_checkpoint

# An image, unused by Beam in this process, keeps TFX from packing itself for workers elsewhere.
BEAM_ARGS = ["--direct_running_mode=in_memory", "--sdk_container_image=none"]

CHAT = (
    "{% for m in messages %}{{ m.role }}: {{ m.content }}<|endoftext|>{% endfor %}"
    "{% if add_generation_prompt %}assistant: {% endif %}"
)


def json_lines(path: Path, *rows: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
    return path


def run(folder: Path, config: dict[str, Any], checkpoint: Path | None = None) -> standard_artifacts.Examples:
    component = corpus_example_gen(CorpusConfig.model_validate(config), checkpoint=checkpoint)
    examples = standard_artifacts.Examples()
    examples.uri = str(folder / "examples")
    context = BaseBeamExecutor.Context(
        tmp_dir=str(folder / "tmp"), unique_id="1", beam_pipeline_args=BEAM_ARGS
    )
    CorpusExampleGenExecutor(context).Do({}, {"examples": [examples]}, dict(component.exec_properties))
    return examples


def report(examples: standard_artifacts.Examples) -> dict[str, Any]:
    return json.loads((Path(examples.uri) / "corpus_report.json").read_text())


def letters(examples: standard_artifacts.Examples) -> list[dict[str, Any]]:
    lines = (Path(examples.uri) / "dead_letters.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def written(examples: standard_artifacts.Examples) -> dict[str, dict[str, list[Any]]]:
    """Source and path of every example → its features."""
    files = [str(path) for path in sorted(Path(examples.uri).glob("Split-*/*"))]
    found = {}
    for record in tf.data.TFRecordDataset(files, compression_type="GZIP").as_numpy_iterator():
        features = tf.train.Example.FromString(record).features.feature
        values = {
            name: list(getattr(feature, str(feature.WhichOneof("kind"))).value)
            for name, feature in features.items()
        }
        found[f"{values['source'][0].decode()}/{values['path'][0].decode()}"] = values
    return found


def texts(examples: standard_artifacts.Examples) -> dict[str, str]:
    return {name: values["text"][0].decode() for name, values in written(examples).items()}


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> standard_artifacts.Examples:
    """One source of files of five formats, one of conversations, one of spans."""
    folder = tmp_path_factory.mktemp("mixed")
    files = folder / "files"
    json_lines(files / "a.jsonl", {"text": "from json lines"}, "broken", {"text": "twice"}, {"text": " "})
    (files / "b.csv").write_text('text,n\n"from, csv",1\ntwice,2\n')
    pq.write_table(pa.table({"text": ["from parquet"]}), files / "c.parquet")
    with tf.io.TFRecordWriter(str(files / "d.tfrecord")) as writer:
        value = tf.train.Feature(bytes_list=tf.train.BytesList(value=[b"from tfrecord"]))
        writer.write(
            tf.train.Example(features=tf.train.Features(feature={"text": value})).SerializeToString()
        )
    (files / "e.txt.gz").write_bytes(gzip.compress(b"from text"))
    conversation = [{"role": "user", "content": "who?"}, {"role": "assistant", "content": "me"}]
    chat = json_lines(folder / "chat.jsonl", {"messages": conversation}, {"messages": conversation[:1]})
    for span in (1, 2, 3):
        json_lines(
            folder / f"span-{span}" / "s.jsonl", *({"text": f"row {n}"} for n in range(span, span + 3))
        )
    checkpoint = write_tiny_checkpoint(folder / "checkpoint")
    (checkpoint / "chat_template.jinja").write_text(CHAT)
    config = {
        "sources": [
            {"name": "files", "path": str(files), "weight": 2},
            {"name": "chat", "path": str(chat), "format": "chat"},
            {"name": "spans", "path": f"{folder}/span-{{SPAN}}"},
        ],
        "spans": {"newest": 2},
        "max_bad_fraction": 0.5,
        "eval_fraction": 0.4,
    }
    return run(folder, config, checkpoint)


def test_every_row_of_every_format_is_one_example(mixed):
    assert texts(mixed) == {
        "files/a.jsonl#1": "from json lines",
        "files/a.jsonl#3": "twice",
        "files/b.csv#1": "from, csv",
        "files/c.parquet#1": "from parquet",
        "files/d.tfrecord#1": "from tfrecord",
        "files/e.txt.gz": "from text",
        "chat/chat.jsonl#1": "user: who?<|endoftext|>assistant: me<|endoftext|>",
        "spans/span-2/s.jsonl#1": "row 2",
        "spans/span-2/s.jsonl#2": "row 3",
        "spans/span-2/s.jsonl#3": "row 4",
        "spans/span-3/s.jsonl#3": "row 5",
    }


def test_examples_tell_weight_span_group_and_segments(mixed):
    found = written(mixed)
    assert {name: values["weight"] for name, values in found.items() if values["weight"] != [1.0]} == {
        name: [2.0] for name in found if name.startswith("files/")
    }
    assert {name: values["span"] for name, values in found.items() if "span" in values} == {
        name: [int(name[len("spans/span-")])] for name in found if name.startswith("spans/")
    }
    chat = found["chat/chat.jsonl#1"]
    learned = [
        text for text, kind in zip(chat["segments"], chat["segment_kinds"], strict=True) if kind & LEARNED
    ]
    assert learned == [b"me", b"<|endoftext|>"]
    assert [name for name, values in found.items() if "segments" in values] == ["chat/chat.jsonl#1"]
    assert found["files/e.txt.gz"]["group"] == [b"e.txt"]
    assert len({values["group"][0] for values in found.values()}) == len(found)


def test_broken_rows_are_dead_letters_in_the_order_of_the_corpus(mixed):
    assert [(one["source"], one["path"], one["row"], one["reason"]) for one in letters(mixed)] == [
        ("files", "a.jsonl", 2, "not_json"),
        ("chat", "chat.jsonl", 2, "bad_messages"),
    ]
    assert letters(mixed)[0]["raw"] == "broken"
    assert mixed.get_int_custom_property("dead_letters") == 2


def test_the_report_accounts_for_all_rows_and_spans(mixed):
    found = report(mixed)
    assert found["documents"] == 11
    assert found["examples"]["duplicates"] == [
        "files/b.csv#2 = files/a.jsonl#3",
        "spans/span-3/s.jsonl#1 = spans/span-2/s.jsonl#2",
        "spans/span-3/s.jsonl#2 = spans/span-2/s.jsonl#3",
    ]
    assert found["examples"]["blank"] == ["files/a.jsonl#4"]
    assert found["spans"] == {
        "asked": "the newest 2 spans",
        "missing": {},
        "read": {"2": 3, "3": 1},
        "newest": 3,
        "left_out": [1],
    }
    formats = {one["format"] for one in found["sources"] if one["source"] == "files"}
    assert formats == {"jsonl", "csv", "parquet", "tfrecord", "text"}
    assert mixed.get_int_custom_property("span") == 3


def test_too_many_broken_rows_stop_the_run_before_anything_is_written(tmp_path):
    rows = [{"text": f"row {n}"} for n in range(50)]
    path = json_lines(tmp_path / "a.jsonl", *rows, "{broken", {"content": "x"})
    config = {"sources": [{"name": "s", "path": str(path)}]}
    with pytest.raises(DataError) as caught:
        run(tmp_path, config)
    message = str(caught.value)
    assert "source 's' has 2 broken rows of 52 (3.85%), more than `corpus.max_bad_fraction` 0.01" in message
    assert "s/a.jsonl#51: the line is not JSON" in message
    assert "no field 'text'; the row has 'content'" in message
    assert not (tmp_path / "examples").exists()
    examples = run(tmp_path, {**config, "max_bad_fraction": 0.05})
    assert [one["row"] for one in letters(examples)] == [51, 52]


def test_one_text_is_in_one_split_whatever_span_and_file_it_comes_in(tmp_path):
    rows = [{"text": f"row {n}"} for n in range(40)]
    json_lines(tmp_path / "one" / "a.jsonl", *rows)
    json_lines(tmp_path / "two" / "z.jsonl", *({"text": f"new {n}"} for n in range(40)), *reversed(rows))
    splits = []
    for name in ("one", "two"):
        examples = run(tmp_path / name, {"sources": [{"name": "s", "path": str(tmp_path / name)}]})
        held_out = tf.data.TFRecordDataset(
            [str(path) for path in Path(examples.uri).glob("Split-eval/*")], compression_type="GZIP"
        )
        parsed = [tf.train.Example.FromString(one) for one in held_out.as_numpy_iterator()]
        splits.append({one.features.feature["text"].bytes_list.value[0] for one in parsed})
    assert splits[0]
    assert splits[0] == {text for text in splits[1] if text.startswith(b"row")}


def test_a_long_row_becomes_several_documents_of_one_group(tmp_path):
    long = "".join(f"line {number:04d}\n" for number in range(300))
    path = json_lines(tmp_path / "a.jsonl", {"text": long}, {"text": "short"})
    found = written(
        run(tmp_path, {"sources": [{"name": "s", "path": str(path)}], "max_document_bytes": 1024})
    )
    pieces = [f"s/a.jsonl#1/{number:05d}" for number in (1, 2, 3)]
    assert sorted(found) == [*pieces, "s/a.jsonl#2"]
    assert "".join(found[piece]["text"][0].decode() for piece in pieces) == long
    assert len({found[piece]["group"][0] for piece in pieces}) == 1


def test_damaged_files_and_missing_columns_are_refused_by_name(tmp_path):
    for name, content, message in (
        ("a.parquet", b"PAR1", "no whole parquet file"),
        ("a.csv", b"id,body\n1,x\n", r"no column 'text'; its columns are \['id', 'body'\]"),
    ):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(DataError, match=message):
            run(tmp_path, {"sources": [{"name": "s", "path": str(tmp_path / name)}]})


def test_conversations_need_a_chat_template(tmp_path):
    path = json_lines(tmp_path / "a.jsonl", {"messages": []})
    config = {"sources": [{"name": "s", "path": str(path), "format": "chat"}]}
    checkpoint = write_tiny_checkpoint(tmp_path / "checkpoint")
    settings = json.loads((checkpoint / "tokenizer_config.json").read_text())
    del settings["chat_template"]
    (checkpoint / "tokenizer_config.json").write_text(json.dumps(settings))
    with pytest.raises(ConfigError, match="has no chat template"):
        run(tmp_path, config, checkpoint)
