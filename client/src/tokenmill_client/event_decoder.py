"""EventDecoder: server-sent events from bytes that arrive in any pieces."""

from __future__ import annotations


class EventDecoder:
    """Collects lines and yields the data of each complete event; comments vanish."""

    def __init__(self) -> None:
        self._rest = b""
        self._data: list[str] = []

    def feed(self, piece: bytes) -> list[str]:
        """The data of the events that `piece` completes."""
        *lines, self._rest = (self._rest + piece).split(b"\n")
        events = []
        for line in lines:
            text = line.removesuffix(b"\r").decode("utf-8", "replace")
            if not text:
                if self._data:
                    events.append("\n".join(self._data))
                self._data = []
            name, _, value = text.partition(":")
            if name == "data":
                self._data.append(value.removeprefix(" "))
        return events
