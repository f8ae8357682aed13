"""Proofs about a vocabulary's merge rules, made once at load.

Byte-level BPE merges by rule: a pair of tokens merges if a rule names this pair. SentencePiece
merges by concatenation: a pair merges if its concatenation is a token. Both give the same ids if
every token has one rule and its own bytes, encoded alone by rule, give that token: suppose the two
first differ where concatenation joins x and y to a token t that has another rule. No merge has
crossed the ends of the span xy, so it went as if it stood alone, and alone it would by now be the two
parts of t's own rule. Hence x and y are these parts.
"""

from __future__ import annotations

from collections import Counter

from tokenizers.models import BPE

Merges = tuple[tuple[str, str], ...]


def not_self_derivable(vocab: dict[str, int], merges: Merges) -> list[str]:
    """Tokens that merging by concatenation may get wrong: two rules, or their bytes merge otherwise.

    The reference itself encodes each token's bytes.
    """
    reference = BPE(vocab=vocab, merges=list(merges))
    rules = Counter(left + right for left, right in merges)
    return [token for token, count in rules.items() if count > 1 or len(reference.tokenize(token)) > 1]


def used_before_complete(merges: Merges) -> tuple[str, str] | None:
    """The first rule with a part that a rule of the same or a later rank makes; None if there is none.

    Without one, merging all occurrences of the most urgent pair at once is merging by rule: a merge
    never makes a more urgent pair possible.
    """
    last_made = {left + right: index for index, (left, right) in enumerate(merges)}
    for index, pair in enumerate(merges):
        if any(last_made.get(part, -1) >= index for part in pair):
            return pair
    return None
