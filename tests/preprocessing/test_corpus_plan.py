from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.contract.errors import DataError
from preprocessing.corpus_document import CorpusDocument
from preprocessing.corpus_plan import EVAL, SPLITS, TRAIN, CorpusPlan

paths = st.lists(
    st.tuples(st.integers(0, 9), st.integers(0, 9)).map(lambda p: f"g{p[0]}/{p[1]}.txt"),
    min_size=2,
    max_size=40,
    unique=True,
).filter(lambda found: len({path.split("/")[0] for path in found}) > 1)


def document(path: str, digest: str | None = None, **changes: object) -> CorpusDocument:
    return CorpusDocument("s", path, f"base/{path}", 10, digest or path, **changes)


def plan(documents: list[CorpusDocument], **changes: object) -> CorpusPlan:
    return CorpusPlan.make(documents, **{"group_depth": 1, "eval_fraction": 0.3, "seed": 0, **changes})


@given(paths, st.integers(0, 5), st.floats(0.01, 0.99))
def test_no_group_straddles_the_split_and_nothing_is_lost(found, seed, fraction):
    documents = [document(path) for path in found]
    splits = plan(documents, seed=seed, eval_fraction=fraction).splits
    groups = {name: {d.group(1) for d in splits[name]} for name in SPLITS}
    assert not groups[TRAIN] & groups[EVAL]
    assert groups[TRAIN]
    assert groups[EVAL]
    assert sorted(d.path for name in SPLITS for d in splits[name]) == sorted(found)
    for name in SPLITS:
        assert splits[name] == [d for d in documents if d in splits[name]]


@given(paths, st.integers(0, 5))
def test_the_split_does_not_depend_on_the_order_of_the_files(found, seed):
    one = plan([document(path) for path in found], seed=seed).splits[EVAL]
    other = plan([document(path) for path in reversed(found)], seed=seed).splits[EVAL]
    assert set(one) == set(other)


def test_new_groups_do_not_move_old_ones():
    old = [document(f"g{i}/a.txt") for i in range(50)]
    new = [document(f"h{i}/a.txt") for i in range(50)]
    before = set(plan(old).splits[EVAL])
    after = set(plan(old + new).splits[EVAL])
    assert before == {d for d in after if d.path.startswith("g")}


def test_about_the_wanted_share_is_held_out_and_the_seed_chooses_which():
    documents = [document(f"g{i}/a.txt") for i in range(1000)]
    one, other = (set(plan(documents, seed=seed, eval_fraction=0.1).splits[EVAL]) for seed in (0, 1))
    assert 70 < len(one) < 130
    assert len(one & other) < 30


def test_files_of_one_name_in_two_sources_are_one_group():
    documents = [CorpusDocument(s, f"g{i}/a.txt", "", 1, f"{s}{i}") for s in "ab" for i in range(20)]
    held_out = {d.group(1): set() for d in documents}
    splits = plan(documents).splits
    for name in SPLITS:
        for d in splits[name]:
            held_out[d.group(1)].add(name)
    assert all(len(names) == 1 for names in held_out.values())


def test_only_the_first_of_equal_files_is_kept():
    documents = [document("a/1", "x"), document("b/1", "y"), document("c/1", "x"), document("a/2", "x")]
    made = plan(documents)
    assert sorted(d.path for name in SPLITS for d in made.splits[name]) == ["a/1", "b/1"]
    assert [(copy.path, first.path) for copy, first in made.duplicates] == [("c/1", "a/1"), ("a/2", "a/1")]
    assert made.report()["duplicates"] == ["s/c/1 = s/a/1", "s/a/2 = s/a/1"]


def test_broken_files_fail_by_default_and_are_all_named_with_the_byte():
    broken = [document(f"g{i}/x.txt", bad_offset=i) for i in range(12)]
    with pytest.raises(DataError) as caught:
        plan([document("a/b"), *broken])
    message = str(caught.value)
    assert "12 corpus files are not UTF-8" in message
    assert "base/g3/x.txt: byte 3" in message
    assert "and 2 more" in message
    assert "on_bad_utf8: skip" in message


def test_broken_and_blank_files_are_left_out_and_reported_on_request():
    documents = [document("a/1"), document("b/1"), document("c/1", bad_offset=7), document("d/1", blank=True)]
    made = plan(documents, on_bad_utf8="skip")
    assert sorted(d.path for name in SPLITS for d in made.splits[name]) == ["a/1", "b/1"]
    report = made.report()
    assert report["not_utf8"] == ["s/c/1 at byte 7"]
    assert report["blank"] == ["s/d/1"]


def test_a_corpus_without_text_or_with_one_group_is_refused():
    with pytest.raises(DataError, match="no text: 2 files, 2 blank"):
        plan([document("a/1", blank=True), document("b/1", blank=True)])
    with pytest.raises(DataError, match=r"2 documents, all of one group, 'a'.*group_depth: 2`"):
        plan([document("a/1"), document("a/2")])


def test_the_remedy_for_one_group_is_one_that_helps():
    same = [document(f"g{i}/a.txt", "x") for i in range(3)]
    with pytest.raises(
        DataError, match=r"one document only, 's/g0/a\.txt' \(2 more had the same b"
    ) as caught:
        plan(same)
    assert "group_depth" not in str(caught.value)
    with pytest.raises(DataError, match=r"one document only, 's/a\.txt', and .* Add files") as caught:
        plan([document("a.txt")])
    assert "group_depth" not in str(caught.value)
    two_sources = [CorpusDocument(s, "a/b.txt", "", 1, s) for s in "xy"]
    with pytest.raises(DataError, match="Add files with other text and other names") as caught:
        plan(two_sources)
    assert "group_depth" not in str(caught.value)


def test_the_depth_that_is_advised_splits_the_corpus():
    deep = [document("a/b/c/1.txt"), document("a/b/d/2.txt"), document("a/b/c/3.txt", "a/b/c/1.txt")]
    with pytest.raises(DataError, match=r"2 documents \(1 more had .*group_depth: 3`"):
        plan(deep)
    assert all(plan(deep, group_depth=3).splits.values())
