"""Fingerprint of a tokenizer: equal fingerprints give equal ids for every text."""

from __future__ import annotations

import hashlib
import json

from preprocessing.tokenizers.character_classes import character_classes
from preprocessing.tokenizers.nfc_tables import nfc_tables
from preprocessing.tokenizers.tokenizer_spec import BYTE_LEVEL_BPE, TokenizerSpec

_VERSION = 2
"""Raise it when the same files start to give other ids."""


def fingerprint(spec: TokenizerSpec) -> str:
    """sha256 in hex over kind, vocabulary, merges, added tokens, split and tables of characters."""
    decisive = {
        "version": _VERSION,
        "kind": spec.kind,
        "vocab": sorted(spec.vocab.items()),
        "merges": spec.merges,
        "specials": sorted(spec.specials.items()),
        "pattern": spec.pattern,
        "nfc": spec.nfc,
        "ignore_merges": spec.ignore_merges,
        "added": sorted(spec.added.items()),
    }
    digest = hashlib.sha256(json.dumps(decisive).encode())
    if spec.sentencepiece is not None:
        digest.update(spec.sentencepiece.model)
        digest.update(json.dumps(spec.sentencepiece.space_in_front).encode())
    if spec.kind == BYTE_LEVEL_BPE:
        digest.update(character_classes(spec.pattern).tobytes())
    if spec.nfc:
        for table in vars(nfc_tables()).values():
            digest.update(table.tobytes())
    return digest.hexdigest()


def files_fingerprint(spec: TokenizerSpec) -> str:
    """sha256 in hex over all that the files say: `fingerprint`, texts, roles, end ids, chat template."""
    said = {
        "ids": fingerprint(spec),
        "bos_id": spec.bos_id,
        "add_bos": spec.add_bos,
        "eos_ids": spec.eos_ids,
        "chat_template": spec.chat_template,
    }
    digest = hashlib.sha256(json.dumps(said).encode())
    start = spec.text_start
    for table in (spec.token_bytes(), start.first_bytes if start else ()):
        digest.update(json.dumps([raw.hex() for raw in table]).encode())
    digest.update(json.dumps(start.begins if start else None).encode())
    return digest.hexdigest()
