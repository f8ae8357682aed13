from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from preprocessing.disjoint_sets import DisjointSets


@given(st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11)), max_size=20))
def test_members_that_are_connected_share_their_smallest_member(pairs):
    sets = DisjointSets(12)
    groups = [{number} for number in range(12)]
    for one, other in pairs:
        sets.join(one, other)
        merged = next(g for g in groups if one in g) | next(g for g in groups if other in g)
        groups = [g for g in groups if not g & merged] + [merged]
    assert [sets.first(number) for number in range(12)] == [
        min(next(group for group in groups if number in group)) for number in range(12)
    ]
    assert list(sets.followers()) == sorted(n for group in groups for n in group if n != min(group))
