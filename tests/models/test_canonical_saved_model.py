"""A SavedModel in canonical form does what it did, and shows nothing of the process."""

from __future__ import annotations

from pathlib import Path

import pytest
import tensorflow as tf

from models.canonical_saved_model import GRAPH, canonicalize


class Counting(tf.Module):
    """A loop, a branch, two functions of one name, and a variable that one hands on to the other."""

    def __init__(self) -> None:
        super().__init__()
        self.factor = tf.Variable(2)

    @tf.function(input_signature=[tf.TensorSpec([], tf.int32)])
    def doubled_until_ten(self, start: tf.Tensor) -> tf.Tensor:
        while start < 10:
            start = self.doubled(start)
        return start

    @tf.function(input_signature=[tf.TensorSpec([], tf.int32)])
    def doubled(self, value: tf.Tensor) -> tf.Tensor:
        return tf.cond(value > 0, lambda: self.factor * value, lambda: value + 1)


def save(directory: Path) -> Path:
    model = Counting()
    tf.saved_model.save(model, str(directory), {"double": model.doubled, "loop": model.doubled_until_ten})
    return directory


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = save(tmp_path_factory.mktemp("saved") / "a")
    canonicalize(directory)
    return directory


def test_it_computes_the_same_in_both_loaders(directory: Path):
    loaded = tf.saved_model.load(str(directory))
    assert loaded.doubled_until_ten(tf.constant(-3)).numpy() == 16
    assert int(loaded.signatures["loop"](start=tf.constant(3))["output_0"]) == 12
    with tf.compat.v1.Session(graph=tf.Graph()) as session:
        signatures = tf.compat.v1.saved_model.load(session, ["serve"], str(directory)).signature_def
        feed = {signatures["loop"].inputs["start"].name: 5}
        assert session.run(signatures["loop"].outputs["output_0"].name, feed) == 10


def test_a_second_model_of_the_process_gets_the_same_file(directory: Path, tmp_path: Path):
    second = save(tmp_path / "b")
    assert (second / GRAPH).read_bytes() != (directory / GRAPH).read_bytes()
    canonicalize(second)
    assert (second / GRAPH).read_bytes() == (directory / GRAPH).read_bytes()
    assert not (second / "fingerprint.pb").exists()


def test_the_canonical_form_of_the_canonical_form_is_itself(directory: Path):
    before = (directory / GRAPH).read_bytes()
    canonicalize(directory)
    assert (directory / GRAPH).read_bytes() == before
