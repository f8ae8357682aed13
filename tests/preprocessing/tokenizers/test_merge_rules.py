from __future__ import annotations

import random
from itertools import pairwise

from tokenizers.models import BPE

from preprocessing.tokenizers.merge_rules import Merges, made_tokens


def vocab_of(*merges: tuple[str, str]) -> dict[str, int]:
    tokens = dict.fromkeys([*"abcd", *(token for rule in merges for token in (*rule, "".join(rule)))])
    return {token: index for index, token in enumerate(tokens)}


def made(*merges: tuple[str, str]) -> list[str]:
    return made_tokens(vocab_of(*merges), merges)


def by_concatenation(word: str, tokens: list[str]) -> list[str]:
    place = {token: index for index, token in enumerate(tokens)}
    parts = list(word)
    while len(parts) > 1:
        best, at = min(
            (place.get(left + right, len(place)), at) for at, (left, right) in enumerate(pairwise(parts))
        )
        if best == len(place):
            break
        parts[at : at + 2] = [parts[at] + parts[at + 1]]
    return parts


def some_rules(rng: random.Random) -> Merges:
    """Few letters, so that rules meet: in the order of training, with every rule of a token, or in none."""
    tokens, rules = list("ab"), []
    for _ in range(rng.randrange(2, 14)):
        pair = rng.choice(tokens), rng.choice(tokens)
        if len("".join(pair)) <= 8 and pair not in rules:
            rules.append(pair)
            tokens.append("".join(pair))
    if rng.random() < 0.5:
        every = [(token[:at], token[at:]) for token in tokens for at in range(1, len(token))]
        rules.extend(rule for rule in dict.fromkeys(every) if {*rule} <= {*tokens} and rule not in rules)
    if rng.random() < 0.6:
        rng.shuffle(rules)
    return tuple(rules)


def test_rules_in_the_order_of_training_make_their_tokens_in_this_order():
    assert made(("a", "b"), ("ab", "c"), ("c", "d")) == ["ab", "abc", "cd"]


def test_a_token_of_several_rules_has_the_urgency_of_the_one_that_makes_it():
    assert made(("a", "b"), ("a", "bc"), ("c", "d"), ("ab", "c")) == ["ab", "cd", "abc"]
    assert made(("b", "c"), ("a", "bc"), ("c", "d"), ("ab", "c")) == ["bc", "abc", "cd"]


def test_a_token_whose_bytes_merge_otherwise_is_made_nowhere():
    assert made(("a", "b"), ("b", "c"), ("a", "bc")) == ["ab", "bc"]
    assert made(("a", "b"), ("b", "c"), ("a", "bc"), ("abc", "d")) == ["ab", "bc"]


def test_a_token_of_no_rule_is_made_nowhere():
    assert made(("ab", "c")) == []


def test_merging_by_concatenation_is_merging_by_rule_whatever_the_rules():
    rng = random.Random(3)
    left_out = 0
    for _ in range(400):
        rules = some_rules(rng)
        vocab = vocab_of(*rules)
        reference = BPE(vocab=vocab, merges=list(rules))
        tokens = made_tokens(vocab, rules)
        left_out += len({"".join(rule) for rule in rules}) - len(tokens)
        for word in ["".join(rng.choices("ab", k=rng.randrange(1, 24))) for _ in range(12)] + ["a" * 21]:
            expected = [part.value for part in reference.tokenize(word)]
            assert by_concatenation(word, tokens) == expected, rules
    assert left_out > 100
