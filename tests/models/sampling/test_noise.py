"""Random numbers: the published generator, even, independent of neighbours, the same compiled."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
from scipy.stats import gumbel_r, kstest

from models.sampling import uniform
from models.sampling.noise import gumbel

MASK = 2**64 - 1


def _mix(state: int) -> int:
    state = (state + 0x9E3779B97F4A7C15) & MASK
    state = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    state = ((state ^ (state >> 27)) * 0x94D049BB133111EB) & MASK
    return state ^ (state >> 31)


def _grid() -> tuple[tf.Tensor, tf.Tensor]:
    seeds, positions = np.meshgrid(np.arange(200), np.arange(200), indexing="ij")
    return tf.constant(seeds.ravel(), tf.int64), tf.constant(positions.ravel(), tf.int32)


def _correlations(grid: np.ndarray) -> list[float]:
    neighbours = [(grid[1:], grid[:-1]), (grid[:, 1:], grid[:, :-1])]
    return [abs(np.corrcoef(one.ravel(), other.ravel())[0, 1]) for one, other in neighbours]


def test_uniform_is_even_and_independent_of_neighbours():
    u = uniform(*_grid()).numpy()
    assert u.min() >= 0
    assert u.max() < 1
    shares = np.histogram(u, bins=20, range=(0, 1))[0] / u.size
    np.testing.assert_allclose(shares, 0.05, atol=0.006)
    assert max(_correlations(u.reshape(200, 200))) < 0.03


def test_uniform_is_the_published_generator():
    # SplitMix64 seeded with 0 starts with this number; the position is mixed in by a second round.
    first = 0xE220A8397B1DCDAF
    assert _mix(0) == first
    wanted = (_mix((first + 41) & MASK) >> 40) / 2**24
    assert uniform(tf.constant([0], tf.int64), tf.constant([41])).numpy()[0] == wanted


def test_an_id_has_the_number_of_its_index_in_the_stream():
    state = _mix((_mix(5) + 41) & MASK)
    for _ in range(3):
        state = (state + 0x9E3779B97F4A7C15) & MASK
    wanted = -np.log(-np.log1p(-(((_mix(state) >> 11) + 0.5) / 2**53)))
    found = gumbel(tf.constant([5], tf.int64), tf.constant([41]), tf.constant([[3]]))
    np.testing.assert_allclose(found, [[wanted]], rtol=1e-6)


def test_noise_is_gumbel_and_independent_over_ids_seeds_and_attempts():
    seeds = tf.range(200, dtype=tf.int64)
    ids = tf.tile(tf.range(-1, 199)[None], [200, 1])
    first = gumbel(seeds, tf.fill([200], 9), ids).numpy()
    assert kstest(first.ravel(), gumbel_r.cdf).pvalue > 0.001
    second = gumbel(seeds, tf.fill([200], 9), ids, tf.constant(1)).numpy()
    assert max(*_correlations(first), abs(np.corrcoef(first.ravel(), second.ravel())[0, 1])) < 0.03


def test_an_id_has_the_same_noise_whoever_it_is_compared_with():
    seed, position = tf.constant([-3], tf.int64), tf.constant([77])
    together = gumbel(seed, position, tf.constant([[50256, -1, 4]])).numpy()[0]
    alone = [gumbel(seed, position, tf.constant([[i]])).numpy()[0, 0] for i in (50256, -1, 4)]
    np.testing.assert_array_equal(together, alone)


def test_compiled_numbers_are_the_same():
    seeds, positions = _grid()
    for plain in (uniform, lambda s, p: gumbel(s, p, p[:, None])):
        compiled = tf.function(plain, jit_compile=True, autograph=False)
        np.testing.assert_allclose(compiled(seeds, positions), plain(seeds, positions), rtol=1e-5, atol=1e-6)
