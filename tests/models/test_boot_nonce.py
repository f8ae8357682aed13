"""The nonce differs wherever it must."""

from __future__ import annotations

import tensorflow as tf

from models.boot_nonce import BootNonce


def test_renewing_changes_it_and_reading_does_not():
    nonce = BootNonce("nonce_renew")
    nonce.renew()
    first = int(nonce.read())
    assert int(nonce.read()) == first
    nonce.renew()
    assert int(nonce.read()) != first


def test_a_global_seed_does_not_fix_it():
    values = set()
    for index in range(3):
        tf.random.set_seed(1)
        nonce = BootNonce(f"nonce_seeded_{index}")
        nonce.renew()
        values.add(int(nonce.read()))
    assert len(values) == 3
