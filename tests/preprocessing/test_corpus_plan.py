from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.contract.errors import DataError
from preprocessing.corpus_plan import EVAL, SPLITS, TRAIN, document_path
from tests.preprocessing.planning import names, plan, row_file, text_file

paths = st.lists(
    st.tuples(st.integers(0, 9), st.integers(0, 9)).map(lambda p: f"g{p[0]}/{p[1]}.txt"),
    min_size=2,
    max_size=40,
    unique=True,
).filter(lambda found: len({path.split("/")[0] for path in found}) > 1)


def groups(found: list[str]) -> set[str]:
    return {name.split("/")[1] for name in found}


@given(paths, st.integers(0, 5), st.floats(0.01, 0.99))
def test_no_group_straddles_the_split_and_nothing_is_lost(found, seed, fraction):
    made = plan([text_file(path, seed=seed) for path in found], eval_fraction=fraction)
    assert not groups(names(made, TRAIN)) & groups(names(made, EVAL))
    assert all(names(made, split) for split in SPLITS)
    assert names(made) == [f"s/{path}" for path in found]
    assert sorted(name for split in SPLITS for name in names(made, split)) == sorted(names(made))


@given(paths, st.integers(0, 5))
def test_the_split_does_not_depend_on_the_order_of_the_files(found, seed):
    one = plan([text_file(path, seed=seed) for path in found])
    other = plan([text_file(path, seed=seed) for path in reversed(found)])
    assert set(names(one, EVAL)) == set(names(other, EVAL))


def test_new_groups_do_not_move_old_ones():
    old = [text_file(f"g{i}/a.txt") for i in range(50)]
    new = [text_file(f"h{i}/a.txt") for i in range(50)]
    before = names(plan(old), EVAL)
    assert before == [name for name in names(plan(old + new), EVAL) if name.startswith("s/g")]


def test_about_the_wanted_share_is_held_out_and_the_seed_chooses_which():
    one, other = (
        set(names(plan([text_file(f"g{i}/a", seed=seed) for i in range(1000)], eval_fraction=0.1), EVAL))
        for seed in (0, 1)
    )
    assert 70 < len(one) < 130
    assert len(one & other) < 30


def test_files_of_one_name_in_two_sources_are_one_group():
    made = plan([text_file(f"g{i}/a.txt", f"{s}{i}", source=s) for s in "ab" for i in range(20)])
    for split in SPLITS:
        assert all(names(made, split).count(f"a/{name[2:]}") == 1 for name in names(made, split))


def test_only_the_first_of_equal_documents_is_kept_across_files_and_formats():
    files = [
        text_file("a/1", "x"),
        text_file("b/1", "y"),
        text_file("c/1", "x"),
        row_file("r", [("z", "", "g"), ("y", "", "h"), ("z", "", "i")]),
    ]
    made = plan(files)
    assert names(made) == ["s/a/1", "s/b/1", "s/r#1"]
    assert [[made.name(n) for n in pair] for pair in made.duplicates] == [
        ["s/c/1", "s/a/1"],
        ["s/r#2", "s/b/1"],
        ["s/r#3", "s/r#1"],
    ]


def test_a_span_that_is_ingested_again_adds_nothing():
    rows = [(f"text {i}", "", f"g{i}") for i in range(50)]
    one = plan([row_file("1.jsonl", rows, span=1)])
    twice = plan([row_file("1.jsonl", rows, span=1), row_file("2.jsonl", rows, span=2)])
    assert names(twice) == names(one)
    assert [names(twice, split) for split in SPLITS] == [names(one, split) for split in SPLITS]
    assert len(twice.duplicates) == 50


def test_of_rows_with_one_id_the_last_is_kept_and_equal_ones_are_copies():
    first = [("old", "7", "a"), ("same", "8", "b"), ("other", "", "c")]
    second = [("new", "7", "d"), ("same", "8", "b")]
    made = plan([row_file("1", first), row_file("2", second)])
    assert names(made) == ["s/1#2", "s/1#3", "s/2#1"]
    assert [[made.name(n) for n in pair] for pair in made.superseded] == [["s/1#1", "s/2#1"]]
    assert [[made.name(n) for n in pair] for pair in made.duplicates] == [["s/2#2", "s/1#2"]]


def test_a_text_that_only_a_superseded_row_had_before_is_kept():
    rows = [("x", "1", "a"), ("y", "1", "b"), ("x", "2", "c")]
    assert names(plan([row_file("r", rows)])) == ["s/r#2", "s/r#3"]


def test_broken_files_fail_by_default_and_are_all_named_with_the_byte():
    broken = [text_file(f"g{i}/x.txt", bad_text=f"not UTF-8 text at byte {i}.") for i in range(12)]
    with pytest.raises(DataError) as caught:
        plan([text_file("a/b"), *broken])
    message = str(caught.value)
    assert "12 corpus files are not UTF-8" in message
    assert "base/g3/x.txt: not UTF-8 text at byte 3" in message
    assert "and 2 more" in message
    assert "on_bad_utf8: skip" in message
    assert names(plan([text_file("a/b"), text_file("c/b"), *broken], on_bad_utf8="skip")) == [
        "s/a/b",
        "s/c/b",
    ]


def test_a_corpus_without_text_is_refused_in_numbers():
    with pytest.raises(DataError, match="no text: 2 files, 2 rows, 1 blank, 3 broken"):
        plan([text_file("a/1", blank=1), text_file("b/1", reasons={"not_json": 3})])


def test_a_corpus_of_one_group_is_refused():
    with pytest.raises(DataError, match=r"2 documents, all of one group, that of 's/a/1'.*group_depth: 2`"):
        plan([text_file("a/1"), text_file("a/2")])
    with pytest.raises(DataError, match=r"2 documents, all of one group.*Add files.* rows of other groups"):
        plan([row_file("r", [("x", "", "g"), ("y", "", "g")])])


def test_the_remedy_for_one_group_is_one_that_helps():
    with pytest.raises(
        DataError, match=r"one document only, 's/g0/a\.txt' \(2 more had the same con"
    ) as caught:
        plan([text_file(f"g{i}/a.txt", "x") for i in range(3)])
    assert "group_depth" not in str(caught.value)
    with pytest.raises(DataError, match=r"one document only, 's/a\.txt', and .* Add files") as caught:
        plan([text_file("a.txt")])
    assert "group_depth" not in str(caught.value)
    with pytest.raises(DataError, match="Add files with other text and other names") as caught:
        plan([text_file("a/b.txt", s, source=s) for s in "xy"])
    assert "group_depth" not in str(caught.value)


def test_the_depth_that_is_advised_splits_the_corpus():
    def deep(depth: int) -> list:
        found = ["a/b/c/1.txt", "a/b/d/2.txt"]
        return [
            *(text_file(p, depth=depth) for p in found),
            text_file("a/b/c/3.txt", "a/b/c/1.txt", depth=depth),
        ]

    with pytest.raises(DataError, match=r"2 documents \(1 more had .*group_depth: 3`"):
        plan(deep(1))
    made = plan(deep(3), group_depth=3)
    assert all(len(made.numbers(split)) for split in SPLITS)


def test_a_split_that_dropping_empties_is_refused():
    made = plan([text_file("a/1"), text_file("b/1"), text_file("c/1")])
    held_out = made.numbers(EVAL)
    with pytest.raises(DataError, match="no document is left in the 'eval' split"):
        made.drop(np.stack([held_out, held_out], axis=1))


def test_names_tell_rows_and_pieces():
    text, rows = text_file("a/b.txt").file, row_file("r.jsonl", []).file
    assert [document_path(text, 0), document_path(text, 3), document_path(rows, 12)] == [
        "a/b.txt",
        "a/b.txt#00003",
        "r.jsonl#12",
    ]
