from __future__ import annotations

import pytest

from preprocessing.corpus_files import CorpusFile
from preprocessing.corpus_group import group_of, group_rank, path_group, rank_fraction
from preprocessing.records.record import Record


@pytest.mark.parametrize(
    ("path", "depth", "group"),
    [
        ("json.py", 1, "json"),
        ("json/tool.py", 1, "json"),
        ("json/a/b.py", 1, "json"),
        ("json/tool.py", 2, "json/tool"),
        ("json/tool/x.py", 2, "json/tool"),
        ("json.py", 3, "json"),
        (".profile", 1, ".profile"),
        ("2024.01.02.txt", 1, "2024.01.02"),
    ],
)
def test_a_texts_group_is_the_leading_parts_of_the_path(path, depth, group):
    assert path_group(path, depth) == group
    assert (
        group_of(CorpusFile("s", f"span-7/{path}", "", 1, 0, span=7, prefix="span-7/"), Record(0, b""), depth)
        == group
    )


def test_a_rows_group_is_its_group_field_or_its_content_wherever_it_stands():
    one, other = (CorpusFile(name, f"{name}.jsonl", "", 1, 0, "jsonl") for name in "ab")
    assert group_of(one, Record(1, b"x", group="g"), 1) == "g"
    assert group_of(one, Record(1, b"x"), 1) == group_of(other, Record(9, b"x"), 2)
    assert group_of(one, Record(1, b"x"), 1) != group_of(one, Record(1, b"y"), 1)


def test_a_rank_is_uniform_and_depends_on_the_seed():
    shares = [rank_fraction(group_rank(f"g{number}", 0)) for number in range(1000)]
    assert all(0 <= share < 1 for share in shares)
    assert 450 < sum(share < 0.5 for share in shares) < 550
    assert group_rank("g", 0) != group_rank("g", 1)
