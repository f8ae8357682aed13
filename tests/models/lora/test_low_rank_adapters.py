"""Low-rank adapters: nothing at the start, only they are trained, merged they compute the same."""

from __future__ import annotations

import keras
import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from models.contract.errors import ConfigError
from models.decoder import Decoder
from models.lora.low_rank_adapters import LowRankAdapters
from tests.tiny import TINY

NAMES = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
IDS = np.random.default_rng(0).integers(0, TINY.vocab_size, (2, 12)).astype(np.int32)


def shake(adapters: LowRankAdapters, seed: int = 0) -> None:
    """Give the adapters weights whose effect shows."""
    random = np.random.default_rng(seed)
    for variable in adapters.trainable_variables:
        variable.assign(random.normal(0, 0.3, variable.shape).astype(np.float32))


def test_before_the_first_step_nothing_changes():
    decoder = Decoder(TINY)
    before = decoder(IDS).numpy()
    adapters = LowRankAdapters(decoder, 4, 8)
    np.testing.assert_array_equal(decoder(IDS).numpy(), before)
    down, up = adapters.pairs["model.layers.0.self_attn.k_proj"]
    assert not up.numpy().any()
    assert 0.5 * TINY.hidden_size**-0.5 < np.abs(down.numpy()).max() <= TINY.hidden_size**-0.5


@settings(max_examples=8, deadline=None)
@given(
    targets=st.sets(st.sampled_from(NAMES), min_size=1),
    rank=st.integers(1, 5),
    alpha=st.floats(0.5, 20),
)
def test_a_layer_adds_its_scaled_product_and_merging_changes_nothing(targets, rank, alpha):
    decoder = Decoder(TINY)
    kernel = decoder.blocks[1].query_key_value.numpy()
    adapters = LowRankAdapters(decoder, rank, alpha, sorted(targets))
    shake(adapters)
    adapted = decoder(IDS).numpy()
    adapters.merge()
    np.testing.assert_allclose(decoder(IDS).numpy(), adapted, atol=1e-4)
    assert not decoder.blocks[0].adapters
    expected = kernel.copy()
    widths = {"q_proj": (0, 32), "k_proj": (32, 48), "v_proj": (48, 64)}
    for name in targets & widths.keys():
        down, up = adapters.pairs[f"model.layers.1.self_attn.{name}"]
        expected[:, slice(*widths[name])] += alpha / rank * down.numpy() @ up.numpy()
    np.testing.assert_allclose(decoder.blocks[1].query_key_value.numpy(), expected, atol=1e-5)


def test_only_the_adapters_are_trained_and_only_until_they_come_off():
    decoder = Decoder(TINY)
    adapters = LowRankAdapters(decoder, 4, 8, ["q_proj", "down_proj"])
    shake(adapters)
    assert decoder.trainable_variables == []
    assert len(adapters.trainable_variables) == 2 * 2 * TINY.num_layers
    for gradient in gradients(decoder, adapters.trainable_variables)():
        assert np.abs(gradient).max() > 0
    adapters.detach()
    assert len(decoder.trainable_variables) == len(decoder.weights)


def gradients(decoder: Decoder, variables: list[keras.Variable]) -> tf.types.experimental.ConcreteFunction:
    @tf.function
    def function() -> list[tf.Tensor]:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(decoder(IDS) ** 2)
        return tape.gradient(loss, variables)

    return function.get_concrete_function()


def products(function: tf.types.experimental.ConcreteFunction) -> list[tuple[int, ...]]:
    """Shapes of the matrix products that the function's results need."""
    seen, waiting = set(), [tensor.op for tensor in function.outputs]
    while waiting:
        op = waiting.pop()
        if op not in seen:
            seen.add(op)
            waiting += [tensor.op for tensor in op.inputs]
    return [tuple(op.outputs[0].shape) for op in seen if op.type == "MatMul"]


def test_no_gradient_of_a_frozen_kernel_is_computed():
    decoder = Decoder(TINY)
    kernels = {tuple(weight.shape) for weight in decoder.blocks[0].weights if len(weight.shape) == 2}
    everything = products(gradients(decoder, [weight.value for weight in decoder.trainable_variables]))
    assert kernels <= set(everything)
    adapters = LowRankAdapters(decoder, 4, 8)
    needed = products(gradients(decoder, [weight.value for weight in adapters.trainable_variables]))
    assert not kernels & set(needed)
    assert (TINY.hidden_size, 2 * 4) in needed


def test_the_share_counts_both_factors():
    decoder = Decoder(TINY)
    adapters = LowRankAdapters(decoder, 3, 8, ["k_proj"])
    trained = TINY.num_layers * 3 * (TINY.hidden_size + TINY.num_kv_heads * TINY.head_dim)
    assert adapters.num_parameters == trained == sum(v.numpy().size for v in adapters.trainable_variables)
    assert adapters.trainable_share == trained / (trained + TINY.num_parameters)


def test_the_start_depends_on_seed_and_layer_alone():
    def start(targets: list[str], seed: int) -> np.ndarray:
        adapters = LowRankAdapters(Decoder(TINY), 2, 4, targets, seed=seed)
        return adapters.pairs["model.layers.1.mlp.up_proj"][0].numpy()

    np.testing.assert_array_equal(start(["up_proj"], 1), start(NAMES, 1))
    assert not np.array_equal(start(["up_proj"], 1), start(["up_proj"], 2))


def test_dropout_scales_what_it_keeps_depends_on_the_step_and_stays_out_of_inference():
    decoder = Decoder(TINY)
    adapters = LowRankAdapters(decoder, 4, 8, ["down_proj"], dropout=0.5)
    shake(adapters)
    added = decoder.blocks[0].adapters["down"]
    x = tf.ones([1, 200, TINY.intermediate_size])
    full = added(x).numpy()
    drawn = []
    for step in (3, 3, 4):
        with adapters.dropping(tf.constant(step)):
            drawn.append(added(x).numpy())
    np.testing.assert_array_equal(drawn[0], drawn[1])
    assert not np.array_equal(drawn[0], drawn[2])
    np.testing.assert_allclose(drawn[0].mean(axis=1), full.mean(axis=1), atol=0.3)
    np.testing.assert_array_equal(added(x).numpy(), full)


def test_targets_are_named_shortly_where_that_names_no_others():
    def names(*targets: str) -> list[str]:
        return LowRankAdapters(Decoder(TINY), 2, 4, targets).target_names

    assert names("v_proj", "q_proj") == ["q_proj", "v_proj"]
    assert names("1.self_attn.q_proj") == ["model.layers.1.self_attn.q_proj"]


def test_an_unknown_target_leaves_the_decoder_trainable():
    decoder = Decoder(TINY)
    with pytest.raises(ConfigError, match="c_attn"):
        LowRankAdapters(decoder, 2, 4, ["c_attn"])
    assert len(decoder.trainable_variables) == len(decoder.weights)
