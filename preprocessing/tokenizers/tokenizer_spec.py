"""TokenizerSpec: everything a tokenizer's files say, checked, before any graph is built."""

from __future__ import annotations

from dataclasses import dataclass, field

from preprocessing.tokenizers.byte_alphabet import token_to_bytes
from preprocessing.tokenizers.sentencepiece_spec import SentencepieceSpec, TextStart
from preprocessing.tokenizers.word_pattern import WordPattern

BYTE_LEVEL_BPE = "byte_level_bpe"
BYTES = "bytes"
SENTENCEPIECE = "sentencepiece"


@dataclass(frozen=True, eq=False)
class TokenizerSpec:
    """A tokenizer that can be reproduced exactly.

    Args:
        kind: BYTE_LEVEL_BPE, BYTES when there is nothing to merge and every byte has an id, or
            SENTENCEPIECE.
        vocab: the model's vocabulary, in the byte alphabet unless the kind is SENTENCEPIECE, token → id;
            may hold special tokens too.
        merges: pairs of tokens, the most urgent first; none in a SentencePiece model.
        specials: content of each special token → id.
        pattern: how text is split into words.
        bos_id: begin-of-sequence id or None.
        add_bos: whether a prompt starts with bos_id.
        eos_ids: ids that end an answer, ascending.
        chat_template: Jinja source or None.
        nfc: text is brought into Unicode normalisation form C first.
        ignore_merges: a word that is a token becomes it without merging.
        added: content → id of added tokens that are not special: any text that holds their content
            becomes them, before it is split into words.
        sentencepiece: the model, if the kind is SENTENCEPIECE; pattern, nfc, ignore_merges and added are
            of no use then.
    """

    kind: str
    vocab: dict[str, int]
    merges: tuple[tuple[str, str], ...]
    specials: dict[str, int]
    pattern: WordPattern
    bos_id: int | None
    add_bos: bool
    eos_ids: tuple[int, ...]
    chat_template: str | None
    nfc: bool = False
    ignore_merges: bool = False
    added: dict[str, int] = field(default_factory=dict)
    sentencepiece: SentencepieceSpec | None = None

    @property
    def vocab_size(self) -> int:
        """Largest id + 1; ids between may be unused."""
        return max([*self.vocab.values(), *self.specials.values(), *self.added.values()]) + 1

    def token_bytes(self) -> list[bytes]:
        """Bytes of ids 0 … vocab_size − 1; none for an unused id."""
        if self.sentencepiece is not None:
            return list(self.sentencepiece.token_bytes)
        table = [b""] * self.vocab_size
        for tokens in (self.vocab, self.specials, self.added):
            for token, index in tokens.items():
                table[index] = token_to_bytes(token)
        return table

    @property
    def text_start(self) -> TextStart | None:
        """How the first ids of a text are read; None if as any other."""
        return None if self.sentencepiece is None else self.sentencepiece.start
