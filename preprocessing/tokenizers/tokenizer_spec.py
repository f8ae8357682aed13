"""TokenizerSpec: everything a tokenizer's files say, checked, before any graph is built."""

from __future__ import annotations

from dataclasses import dataclass

from preprocessing.tokenizers.byte_alphabet import token_to_bytes

BYTE_LEVEL_BPE = "byte_level_bpe"
BYTES = "bytes"


@dataclass(frozen=True, eq=False)
class TokenizerSpec:
    """A tokenizer that can be reproduced exactly.

    Args:
        kind: BYTE_LEVEL_BPE, or BYTES when there is nothing to merge and every byte has an id.
        vocab: the model's vocabulary in the byte alphabet, token → id; may hold special tokens too.
        merges: pairs of tokens, the most urgent first.
        specials: content of each special token → id.
        individual_digits: every numeric character is a word of its own.
        bos_id: begin-of-sequence id or None.
        add_bos: whether a prompt starts with bos_id.
        eos_ids: ids that end an answer, ascending.
        chat_template: Jinja source or None.
    """

    kind: str
    vocab: dict[str, int]
    merges: tuple[tuple[str, str], ...]
    specials: dict[str, int]
    individual_digits: bool
    bos_id: int | None
    add_bos: bool
    eos_ids: tuple[int, ...]
    chat_template: str | None

    @property
    def vocab_size(self) -> int:
        """Largest id + 1; ids between may be unused."""
        return max([*self.vocab.values(), *self.specials.values()]) + 1

    def token_bytes(self) -> list[bytes]:
        """Bytes of ids 0 … vocab_size − 1; none for an unused id."""
        table = [b""] * self.vocab_size
        for tokens in (self.vocab, self.specials):
            for token, index in tokens.items():
                table[index] = token_to_bytes(token)
        return table
