from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from tokenmill_client.event_decoder import EventDecoder

WIRE = 'data: {"a": "é漢"}\n\n: ping\n\nevent: x\ndata: one\r\ndata:two\r\n\r\ndata: [DONE]\n\n'.encode()
EVENTS = ['{"a": "é漢"}', "one\ntwo", "[DONE]"]


@given(st.sets(st.integers(1, len(WIRE) - 1)))
def test_events_do_not_depend_on_how_the_bytes_arrive(cuts: set[int]):
    decoder = EventDecoder()
    edges = [0, *sorted(cuts), len(WIRE)]
    found = [event for a, b in pairwise(edges) for event in decoder.feed(WIRE[a:b])]
    assert found == EVENTS


def test_an_unfinished_event_is_none():
    assert EventDecoder().feed(b"data: x\n") == []
