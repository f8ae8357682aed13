"""Which tokens a vocabulary's merge rules make, and in which order of urgency.

Byte-level BPE merges by rule: of the pairs of neighbours that a rule names it merges the most urgent,
of several the leftmost, until there is none. SentencePiece merges by concatenation: of the pairs whose
concatenation is a token it merges that of the best score, of several the leftmost. Both give the
same ids for every word if the tokens are those that `made_tokens` gives, their scores in its order:

1. Where two neighbours of a word cover a token's bytes, no merge has crossed the ends of this span, and
   those inside were made in the order in which they would be if the span stood alone: the most urgent
   pair of the word, if it is in the span, is the most urgent of the span. So if the two merge to
   the token by rule, the token's bytes alone merge to it too, and their last two parts are these two.
2. So a token that its own bytes, merged alone, do not become is never made in any word; its rules and
   those with it as a part never apply and may be left out. Every other token is made by one rule only,
   the one that merges its last two parts alone, whatever other rules it has. The token may have this
   rule's urgency.
3. Suppose that merging by concatenation differs from merging by rule for the first time where it joins
   two neighbours to a token. Until then the span went by rule as if alone; alone it becomes the token,
   so from these two parts the next step merges them: by the token's one rule. Hence merging by
   rule may join them too, and as urgency orders tokens as it orders their rules, it does.
"""

from __future__ import annotations

from itertools import pairwise

from tokenizers.models import BPE

Merges = tuple[tuple[str, str], ...]
_NEVER = 1 << 62


def made_tokens(vocab: dict[str, int], merges: Merges) -> list[str]:
    """Tokens that merging makes, the most urgent first.

    The reference itself merges each token's bytes.
    """
    reference = BPE(vocab=vocab, merges=list(merges))
    ranks: dict[str, list[int]] = {}
    for rank, (left, right) in enumerate(merges):
        ranks.setdefault(left + right, []).append(rank)
    ranks = {token: of for token, of in ranks.items() if _becomes(reference, token)}
    urgency = {token: of[0] for token, of in ranks.items()}
    interleaved = _interleaved(ranks)
    if interleaved:
        by_rule = {pair: rank for rank, pair in enumerate(merges)}
        urgency.update((token, _last_rank(token, by_rule)) for token in interleaved)
    return sorted(urgency, key=urgency.__getitem__)


def _becomes(reference: BPE, token: str) -> bool:
    parts = reference.tokenize(token)
    return len(parts) == 1 and parts[0].value == token


def _interleaved(ranks: dict[str, list[int]]) -> list[str]:
    """Tokens of several rules that may have another token's rule between: which rule is theirs matters.

    `ranks` ascend, and so do the first ones from token to token.
    """
    first = [of[0] for of in ranks.values()]
    found, latest = [], -1
    for (token, of), next_first in zip(ranks.items(), [*first[1:], _NEVER], strict=False):
        if len(of) > 1 and (latest > of[0] or next_first < of[-1]):
            found.append(token)
        latest = max(latest, of[-1])
    return found


def _last_rank(token: str, by_rule: dict[tuple[str, str], int]) -> int:
    """Rank of the rule by which the token's bytes, merged alone, become it."""
    parts, rank = list(token), -1
    while len(parts) > 1:
        rank, at = min((by_rule.get(pair, len(by_rule)), at) for at, pair in enumerate(pairwise(parts)))
        parts[at : at + 2] = [parts[at] + parts[at + 1]]
    return rank
