from __future__ import annotations

from collections.abc import Callable

import pytest

from models.contract.errors import CheckpointError
from preprocessing.tokenizers import nfc_tables as module
from preprocessing.tokenizers.nfc_tables import nfc_tables, pair_key


def decomposition(point: int) -> list[int]:
    tables = nfc_tables()
    at = tables.decomposable.searchsorted(point)
    begin, end = tables.decomposition_splits[at : at + 2]
    return tables.decomposition[begin:end].tolist() if tables.decomposable[at] == point else [point]


def test_decompositions_are_full():
    assert decomposition(0x1F82) == [0x3B1, 0x313, 0x300, 0x345]
    assert decomposition(0x344) == [0x308, 0x301]
    assert decomposition(0x2126) == [0x3A9]
    assert decomposition(ord("a")) == [ord("a")]


def test_marks_ascend_by_their_canonical_class():
    tables = nfc_tables()
    order = tables.order[tables.kind]
    assert order[0x334] < order[0x5B0] < order[0x323] < order[0x301] < order[0x345]
    assert order[0x300] == order[0x301] > 0
    assert order[ord("a")] == order[0xE9] == order[0x9BE] == order[0] == 0


def test_kinds_say_what_a_code_point_can_do():
    tables = nfc_tables()

    def flags(point: int) -> tuple[bool, ...]:
        kind = tables.kind[point]
        return tuple(bool(flag[kind]) for flag in (tables.is_boundary, tables.is_unsettled, tables.is_second))

    assert (tables.kind[:0x300] == 0).all()
    assert tables.kind[0xAC00] == tables.kind[0x4E00] == 0
    assert flags(0x301) == flags(0x9BE) == flags(0x1161) == flags(0x11A8) == (False, True, True)
    assert flags(0x316) == (False, False, False)
    assert flags(0x958) == flags(0x2126) == (True, True, False)
    assert flags(0x344) == (False, True, False)


def test_what_is_excluded_from_composition_is_no_composite():
    composites = set(nfc_tables().composites.tolist())
    assert composites >= {0xE9, 0x1F82, 0x9CB, 0xDDD}
    assert not composites & {0x958, 0x344, 0x2126, 0xFB1D, 0x1D15E, 0xF43}
    assert pair_key(0x65, 0x301) in nfc_tables().pairs


def test_the_tables_do_not_change():
    tables = nfc_tables()
    assert tables.kind.shape == (0x110000,)
    with pytest.raises(ValueError, match="read-only"):
        tables.kind[0] = 1


def test_joins_that_overlap_are_refused_by_name(monkeypatch: pytest.MonkeyPatch):
    """As Unicode 16 has them: Kirat Rai's vowel sign E joins itself."""
    sign, double = "\U00016d67", "\U00016d68"

    def patched(name: str, old: str, new: str) -> None:
        reference: Callable[[str], str] = getattr(module, name)
        monkeypatch.setattr(module, name, lambda text: reference(text).replace(old, new))

    patched("_nfd", double, sign * 2)
    patched("_nfc", sign * 2, double)
    with pytest.raises(CheckpointError, match=r"joins '\\U00016d67' and '\\U00016d67' to") as error:
        nfc_tables.__wrapped__()
    assert error.value.field == "normalizer"
