from __future__ import annotations

from rich.color import ColorSystem
from rich.style import Style

from cli.token_view import token_view


def shown(*pieces: bytes, special: tuple[int, ...] = ()) -> list[str]:
    return [line.plain for line in token_view(pieces, [place in special for place in range(len(pieces))])]


def styles(*pieces: bytes, special: tuple[int, ...] = ()) -> list[str]:
    (line,) = token_view(pieces, [place in special for place in range(len(pieces))])
    return [str(span.style) for span in line.spans]


def test_white_space_is_visible_and_lines_end_where_they_end():
    assert shown(b"a b\t", b" \r\nc", b"\n") == ["a·b→·␍⏎", "c⏎"]
    assert shown(b"\n\n") == ["⏎", "⏎"]
    assert shown() == []


def test_bytes_of_cut_characters_are_hex():
    assert shown("é日".encode()[:-1], b"\xa5x") == ["é<e6 97><a5>x"]
    assert shown(b"\xff") == ["<ff>"]


def test_what_shows_nothing_is_escaped():
    assert shown("\x1b[31m\u00a0\u200d\u202e\u3000".encode()) == ["\\x1b[31m\\xa0\\u200d\\u202e\\u3000"]


def test_a_mark_without_its_letter_gets_a_circle():
    assert shown(b"e", "\u0301".encode()) == ["e◌\u0301"]


def test_neighbours_differ_and_special_tokens_stand_out():
    backgrounds = [style.rpartition(" on ")[2] for style in styles(b"a", b"b", b"<s>", b"c", special=(2,))]
    assert backgrounds[0] != backgrounds[1]
    assert backgrounds[1] == backgrounds[-1]
    assert set(backgrounds[2:-1]).isdisjoint(backgrounds[:2])


def test_neighbours_differ_in_sixteen_colours_too():
    (line,) = token_view([b"a", b"b", b"<s>"], [False, False, True], sixteen=True)
    colours = [Style.parse(str(span.style)).bgcolor.downgrade(ColorSystem.STANDARD) for span in line.spans]
    assert len({colour.number for colour in colours}) == 3
