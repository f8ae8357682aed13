"""The corpus ExampleGen by itself, run by TFX."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import tensorflow as tf
from pydantic import ValidationError
from tfx import v1 as tfx

from components.corpus_example_gen.component import corpus_example_gen
from components.corpus_example_gen.corpus_config import CorpusConfig
from models.contract.errors import DataError


def config(*folders: Path, **changes: object) -> CorpusConfig:
    sources = [{"name": folder.name, "path": str(folder), "include": ["**/*.txt"]} for folder in folders]
    return CorpusConfig(sources=sources, **{"eval_fraction": 0.4, **changes})


def write(folder: Path, files: dict[str, str | bytes]) -> Path:
    for path, content in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def groups(count: int) -> dict[str, str | bytes]:
    return {f"g{i}/{name}.txt": f"text {i} {name} ä" for i in range(count) for name in "ab"}


def run(root: Path, settings: CorpusConfig) -> list[Path]:
    """The artifacts after the run, oldest first."""
    component = corpus_example_gen(settings)
    metadata = tfx.orchestration.metadata.sqlite_metadata_connection_config(str(root / "m.sqlite"))
    pipeline = tfx.dsl.Pipeline(
        "corpus",
        str(root),
        components=[component],
        enable_cache=True,
        metadata_connection_config=metadata,
        # An image, unused by Beam in this process, keeps TFX from packing itself for workers elsewhere.
        beam_pipeline_args=["--direct_running_mode=in_memory", "--sdk_container_image=none"],
    )
    tfx.orchestration.LocalDagRunner().run(pipeline)
    return artifacts(root)


def artifacts(root: Path) -> list[Path]:
    return sorted(root.glob("CorpusExampleGen/examples/*"), key=lambda path: int(path.name))


def examples(artifact: Path, split: str) -> list[dict[str, str]]:
    files = [str(path) for path in sorted((artifact / f"Split-{split}").iterdir())]
    records = tf.data.TFRecordDataset(files, compression_type="GZIP").as_numpy_iterator()
    return [
        {name: f.bytes_list.value[0].decode() for name, f in features.items() if f.HasField("bytes_list")}
        for features in (tf.train.Example.FromString(record).features.feature for record in records)
    ]


def test_texts_of_all_sources_arrive_once_in_one_split_each(tmp_path):
    one = write(tmp_path / "one", {**groups(8), "skipped.py": "x", "empty/e.txt": "  "})
    two = write(tmp_path / "two", {"g1/c.txt": "only here", "copy/d.txt": "text 0 a ä"})
    (artifact,) = run(tmp_path / "root", config(one, two))
    found = {split: examples(artifact, split) for split in ("train", "eval")}
    texts = [example["text"] for split in found.values() for example in split]
    assert sorted(texts) == sorted([*map(str, groups(8).values()), "only here"])
    split_groups = {split: {e["group"] for e in found[split]} for split in found}
    assert split_groups["train"]
    assert split_groups["eval"]
    assert not split_groups["train"] & split_groups["eval"]
    by_text = {e["text"]: e for split in found.values() for e in split}
    assert by_text["only here"] == {"text": "only here", "source": "two", "path": "g1/c.txt", "group": "g1"}
    report = json.loads((artifact / "corpus_report.json").read_text())
    assert report["examples"]["duplicates"] == ["two/copy/d.txt = one/g0/a.txt"]
    assert report["examples"]["blank"] == ["one/empty/e.txt"]
    assert {name: counts["documents"] for name, counts in report["splits"].items()} == {
        name: len(found[name]) for name in found
    }


def test_a_long_file_becomes_several_documents_of_one_split(tmp_path):
    lines = "".join(f"line {number:04d}\n" for number in range(300))
    folder = write(tmp_path / "one", {**groups(4), "long/l.txt": lines})
    (artifact,) = run(tmp_path / "root", config(folder, max_document_bytes=1024))
    found = [[e for e in examples(artifact, split) if e["group"] == "long"] for split in ("train", "eval")]
    (pieces,) = [split for split in found if split]
    assert [e["path"] for e in pieces] == [f"long/l.txt#0000{n}" for n in (1, 2, 3)]
    assert "".join(e["text"] for e in pieces) == lines


def test_an_unchanged_corpus_comes_from_the_cache_and_a_changed_one_is_read_again(tmp_path):
    folder = write(tmp_path / "one", groups(5))
    (first,) = run(tmp_path / "root", config(folder))
    assert run(tmp_path / "root", config(folder)) == [first]
    write(folder, {"g9/new.txt": "new"})
    before, after = run(tmp_path / "root", config(folder))
    assert before == first
    assert "new" in [e["text"] for split in ("train", "eval") for e in examples(after, split)]
    for split in ("train", "eval"):
        old = [e for e in examples(after, split) if e["text"] != "new"]
        assert old == examples(first, split)


def test_broken_text_stops_the_run_before_anything_is_written(tmp_path):
    folder = write(tmp_path / "one", {**groups(4), "g1/bad.txt": b"abc\xff"})
    with pytest.raises(DataError, match=r"bad\.txt: not UTF-8 text at byte 3"):
        run(tmp_path / "root", config(folder))
    assert artifacts(tmp_path / "root") == []
    (artifact,) = run(tmp_path / "root", config(folder, on_bad_utf8="skip"))
    report = json.loads((artifact / "corpus_report.json").read_text())
    assert report["examples"]["not_utf8"] == ["one/g1/bad.txt: not UTF-8 text at byte 3."]
    letters = (artifact / "dead_letters.jsonl").read_text().splitlines()
    assert [json.loads(letter)["path"] for letter in letters] == ["g1/bad.txt"]


def test_a_missing_or_empty_corpus_is_refused_before_the_run_starts(tmp_path):
    (tmp_path / "empty").mkdir()
    for folder in ("empty", "missing"):
        with pytest.raises(DataError, match=folder):
            run(tmp_path / "root", config(tmp_path / folder))
    assert not (tmp_path / "root").exists()


def test_two_sources_of_one_name_are_refused(tmp_path):
    with pytest.raises(ValidationError, match="two sources are called 'x'"):
        config(tmp_path / "a/x", tmp_path / "b/x")
