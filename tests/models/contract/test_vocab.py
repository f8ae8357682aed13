from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.contract.errors import PackageError
from models.contract.vocab import read_vocab, write_vocab


@given(st.lists(st.binary(max_size=9), max_size=40))
def test_what_is_written_is_read(tmp_path_factory: pytest.TempPathFactory, tokens: list[bytes]):
    path = tmp_path_factory.mktemp("vocab") / "vocab.bin"
    write_vocab(path, tokens)
    assert read_vocab(path) == tokens


@pytest.mark.parametrize(
    "damage", [lambda raw: raw[:-1], lambda raw: raw[:6], lambda raw: b"X" + raw[1:], lambda raw: raw + b"x"]
)
def test_a_damaged_table_is_refused_by_name(tmp_path: Path, damage):
    path = tmp_path / "vocab.bin"
    write_vocab(path, [b"a", b"", b"bc"])
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(PackageError, match=r"vocab\.bin: not a vocabulary table"):
        read_vocab(path)


def test_a_missing_table_is_named(tmp_path: Path):
    with pytest.raises(PackageError, match="cannot read the vocabulary"):
        read_vocab(tmp_path / "vocab.bin")
