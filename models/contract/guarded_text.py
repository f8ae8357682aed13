"""GuardedText: text of a message that keeps its origin while a template works on it."""

# ruff: noqa: D102 - the methods of str do what those of str do
from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from threading import Lock
from typing import Any, Self, SupportsIndex

_STAND_INS = [chr(point) for point in range(0xD800, 0xE000)]
"""Halves of surrogate pairs: no text that can be UTF-8 holds them."""

_STAND_IN = re.compile("[\ud800-\udfff]")
_HIDDEN: dict[int, str] = {}
_SHOWN: dict[int, str] = {}
_LOCK = Lock()


def stand_ins(letters: Iterable[str]) -> dict[int, str]:
    """Code point of each letter → the character that stands for it where it comes from a message.

    Raises:
        ValueError: there are more letters than stand-ins.
    """
    wanted = {ord(letter) for letter in letters}
    with _LOCK:
        new = sorted(wanted - _HIDDEN.keys())
        if len(_HIDDEN) + len(new) > len(_STAND_INS):
            raise ValueError(f"{len(_HIDDEN) + len(new)} letters, {len(_STAND_INS)} stand-ins")
        for point in new:
            stand_in = _STAND_INS[len(_HIDDEN)]
            _SHOWN[ord(stand_in)] = chr(point)
            _HIDDEN[point] = stand_in
        return {point: _HIDDEN[point] for point in wanted}


def hidden(text: str) -> str:
    """The text with each letter that has a stand-in replaced by it."""
    return str.__str__(text).translate(_HIDDEN)


def shown(text: str) -> str:
    """The text with what stands in for letters put back."""
    if isinstance(text, GuardedText):
        return text.real
    return text.translate(_SHOWN) if _STAND_IN.search(text) else text


def guarded(value: Any) -> Any:
    """Text with stand-ins as GuardedText, anything else as it is."""
    return GuardedText(value) if type(value) is str and _STAND_IN.search(value) else value


def guarded_number(value: float) -> float:
    """The number; its digits, written out, are hidden as those of a text are."""
    return _Whole(value) if isinstance(value, int) else _Decimal(value)


def joined(parts: Iterable[Any]) -> str:
    """The parts as one text."""
    return str(guarded("".join([str.__str__(str(part)) for part in parts])))


class GuardedText(str):
    """Text in which letters of control tokens are replaced by stand-ins.

    To a template it is the text itself: it compares, splits and searches as that would. Its characters
    are the stand-ins, so whatever puts texts together carries them along, and in the result they tell
    what a message wrote from what the template did.

    Args:
        raw: the characters, with stand-ins.
        real: the text that they stand for, if it is known.
    """

    _real: str | None

    def __new__(cls, raw: str, real: str | None = None) -> Self:
        self = super().__new__(cls, raw)
        self._real = real
        return self

    @property
    def real(self) -> str:
        """The text that it stands for."""
        if self._real is None:
            self._real = self.raw.translate(_SHOWN)
        return self._real

    @property
    def raw(self) -> str:
        """Its characters as a plain string, with stand-ins."""
        return str.__str__(self)

    def __str__(self) -> str:
        return self

    def __repr__(self) -> str:
        return _all_hidden(repr(self.real))

    def __format__(self, form: str) -> str:
        return _all_hidden(format(self.real, form)) if form else self

    def __hash__(self) -> int:
        return hash(self.real)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, str) and self.real == shown(other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __lt__(self, other: str) -> bool:
        return self.real < shown(other)

    def __le__(self, other: str) -> bool:
        return self.real <= shown(other)

    def __gt__(self, other: str) -> bool:
        return self.real > shown(other)

    def __ge__(self, other: str) -> bool:
        return self.real >= shown(other)

    def __contains__(self, part: object) -> bool:
        return isinstance(part, str) and shown(part) in self.real

    def __int__(self) -> int:
        return int(self.real)

    def __float__(self) -> float:
        return float(self.real)

    def __add__(self, other: str) -> str:
        return joined((self, other)) if isinstance(other, str) else NotImplemented

    def __radd__(self, other: str) -> str:
        return joined((other, self)) if isinstance(other, str) else NotImplemented

    def __mul__(self, count: SupportsIndex) -> str:
        return GuardedText(self.raw * count)

    __rmul__ = __mul__

    def __getitem__(self, key: SupportsIndex | slice) -> str:
        return GuardedText(self.raw[key], self.real[key])

    def __iter__(self) -> Iterator[str]:
        return (self[place] for place in range(len(self)))

    def strip(self, chars: str | None = None, /) -> str:
        return self._lstripped(chars)._rstripped(chars)

    def lstrip(self, chars: str | None = None, /) -> str:
        return self._lstripped(chars)

    def rstrip(self, chars: str | None = None, /) -> str:
        return self._rstripped(chars)

    def removeprefix(self, prefix: str, /) -> str:
        return self[len(self) - len(self.real.removeprefix(shown(prefix))) :]

    def removesuffix(self, suffix: str, /) -> str:
        return self[: len(self.real.removesuffix(shown(suffix)))]

    def split(self, sep: str | None = None, maxsplit: SupportsIndex = -1) -> list[str]:
        return self._pieces(self.real.split(_plain(sep), maxsplit), sep)

    def rsplit(self, sep: str | None = None, maxsplit: SupportsIndex = -1) -> list[str]:
        return self._pieces(self.real.rsplit(_plain(sep), maxsplit), sep)

    def splitlines(self, keepends: bool = False) -> list[str]:
        lines = self._pieces(self.real.splitlines(True), "")
        if keepends:
            return lines
        pairs = zip(lines, self.real.splitlines(), strict=True)
        return [line[: len(bare)] for line, bare in pairs]

    def partition(self, sep: str, /) -> tuple[str, str, str]:
        before, found, after = self._pieces(list(self.real.partition(shown(sep))), "")
        return before, found, after

    def rpartition(self, sep: str, /) -> tuple[str, str, str]:
        before, found, after = self._pieces(list(self.real.rpartition(shown(sep))), "")
        return before, found, after

    def join(self, parts: Iterable[str], /) -> str:
        each = [str(part) for part in parts]
        return joined([part for one in each for part in (self, one)][1:])

    def replace(self, old: str, new: str, count: SupportsIndex = -1, /) -> str:
        if not old:
            return _all_hidden(self.real.replace("", shown(new), count))
        return joined(_between(self._pieces(self.real.split(shown(old), count), old), new))

    def startswith(self, prefix: Any, *place: Any) -> bool:
        return self.real.startswith(_plain(prefix), *place)

    def endswith(self, suffix: Any, *place: Any) -> bool:
        return self.real.endswith(_plain(suffix), *place)

    def find(self, part: str, *place: Any) -> int:
        return self.real.find(shown(part), *place)

    def rfind(self, part: str, *place: Any) -> int:
        return self.real.rfind(shown(part), *place)

    def index(self, part: str, *place: Any) -> int:
        return self.real.index(shown(part), *place)

    def rindex(self, part: str, *place: Any) -> int:
        return self.real.rindex(shown(part), *place)

    def count(self, part: str, *place: Any) -> int:
        return self.real.count(shown(part), *place)

    def _lstripped(self, chars: str | None) -> GuardedText:
        return self._part(len(self) - len(self.real.lstrip(_plain(chars))), len(self))

    def _rstripped(self, chars: str | None) -> GuardedText:
        return self._part(0, len(self.real.rstrip(_plain(chars))))

    def _part(self, begin: int, end: int) -> GuardedText:
        return GuardedText(self.raw[begin:end], self.real[begin:end])

    def _pieces(self, pieces: list[str], sep: str | None) -> list[str]:
        """The parts of this text that pieces of the real one are; they lie one `sep` apart."""
        found: list[str] = []
        place = 0
        for piece in pieces:
            if sep is None:
                place = self.real.index(piece, place)
            found.append(self._part(place, place + len(piece)))
            place += len(piece) + len(sep or "")
        return found


def _plain(value: Any) -> Any:
    """Arguments as the real text's methods take them."""
    if isinstance(value, tuple):
        return tuple(shown(one) for one in value)
    return shown(value) if isinstance(value, str) else value


def _between(pieces: list[str], sep: str) -> list[str]:
    return [part for piece in pieces for part in (sep, piece)][1:]


def _all_hidden(real: str) -> GuardedText:
    return GuardedText(hidden(real), real)


class _Whole(int):
    def __str__(self) -> str:
        return _all_hidden(int.__repr__(self))

    __repr__ = __str__


class _Decimal(float):
    def __str__(self) -> str:
        return _all_hidden(float.__repr__(self))

    __repr__ = __str__


def _by_letters(name: str) -> Callable[..., GuardedText]:
    """A method whose result's letters cannot be told apart by origin: all count as the message's."""

    def method(self: GuardedText, *arguments: Any) -> GuardedText:
        return _all_hidden(getattr(self.real, name)(*map(_plain, arguments)))

    return method


def _of_real(name: str) -> Callable[..., bool]:
    def method(self: GuardedText) -> bool:
        return bool(getattr(self.real, name)())

    return method


for _name in ("capitalize", "casefold", "lower", "swapcase", "title", "upper"):
    setattr(GuardedText, _name, _by_letters(_name))
for _name in ("center", "expandtabs", "ljust", "rjust", "translate", "zfill"):
    setattr(GuardedText, _name, _by_letters(_name))
for _name in (name for name in dir(str) if name.startswith("is")):
    setattr(GuardedText, _name, _of_real(_name))
