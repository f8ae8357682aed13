from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from components.corpus_example_gen.corpus_config import CorpusConfig


def config(*sources: dict[str, Any], **changes: Any) -> CorpusConfig:
    named = [{"name": f"s{number}", "path": "x", **source} for number, source in enumerate(sources or [{}])]
    return CorpusConfig(sources=named, **changes)


def test_the_split_is_told_by_all_that_decides_it():
    assert config().split == {"group_depth": 1, "eval_fraction": 0.1, "seed": 0, "group_field": None}
    assert config({}, {"group_field": "user"}).split["group_field"] == {"s1": "user"}


def test_conversations_are_known():
    assert config({}, {"format": "chat"}).has_chat
    assert not config({"format": "jsonl"}).has_chat


def test_it_survives_json_as_the_component_hands_it_over():
    one = config(
        {"path": "a-{SPAN}", "format": "csv", "delimiter": ";", "weight": 0.5},
        spans={"first": 3},
        max_bad_rows=7,
        near_duplicates={"action": "off"},
    )
    assert CorpusConfig.model_validate_json(one.model_dump_json()) == one
    assert (one.bad_row_limits.fraction, one.bad_row_limits.rows) == (0.01, 7)


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"max_bad_fraction": 2}, "max_bad_fraction"),
        ({"spans": {"newst": 1}}, "newst"),
        ({"max_row_bytes": 1}, "max_row_bytes"),
    ],
)
def test_odd_values_are_refused_with_their_key(changes, key):
    with pytest.raises(ValidationError, match=key):
        config(**changes)
