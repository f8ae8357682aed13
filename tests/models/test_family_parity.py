"""Every family against transformers on PyTorch, on every way from ids to logits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from models.checkpoint import load_checkpoint
from models.contract.signatures import NO_ID
from models.decoder import Decoder
from models.export import export_package
from models.export_options import ExportOptions
from models.hf_export import export_hf
from serving.runners.session_model import SessionModel
from tests.models.golden import EXPORTED, NAMES, Golden, read_golden
from tests.models.paged_driver import PagedDriver, sampling_rows

ANSWER = 20
"""Tokens: beyond the first look at whether all rows are done."""
TOLERANCE = 1e-4
BLOCK = 4
Call = Callable[..., dict[str, np.ndarray]]


@pytest.fixture(scope="module", params=NAMES)
def golden(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Golden:
    return read_golden(request.param, tmp_path_factory.mktemp(request.param))


@pytest.fixture(scope="module")
def decoder(golden: Golden) -> Decoder:
    return load_checkpoint(golden.checkpoint)


@pytest.fixture(scope="module", params=EXPORTED)
def exported(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Golden, Path]:
    folder = tmp_path_factory.mktemp(request.param)
    golden = read_golden(request.param, folder / "checkpoint")
    options = ExportOptions(model_name="golden", block_size=BLOCK, num_blocks=32)
    return golden, export_package(golden.checkpoint, folder / "packages", options, version=1)


def test_every_family_and_every_option_of_its_config_has_a_golden():
    assert NAMES == [
        "gpt2_tied",
        "gpt2_untied_narrow_mlp",
        "llama_tied_grouped",
        "llama_tied_multihead",
        "llama_untied_grouped",
        "llama_untied_wide_heads",
        "mistral_no_window",
        "mistral_window",
        "qwen2_no_window",
        "qwen2_window_above",
    ]


def test_the_full_forward(golden: Golden, decoder: Decoder):
    np.testing.assert_allclose(decoder(golden.ids), golden.logits, atol=TOLERANCE, rtol=0)


def test_packed_documents(golden: Golden, decoder: Decoder):
    first, second = 9, 15
    ids = np.concatenate([golden.ids[0, :first], golden.ids[1, :second]])[None]
    segments = np.repeat([[0, 1]], [first, second], axis=1)
    positions = np.concatenate([np.arange(first), np.arange(second)])[None]
    logits = decoder(ids, tf.constant(positions, tf.int32), tf.constant(segments, tf.int32))[0]
    wanted = np.concatenate([golden.logits[0, :first], golden.logits[1, :second]])
    np.testing.assert_allclose(logits, wanted, atol=TOLERANCE, rtol=0)


def test_the_number_of_parameters_follows_from_the_config(decoder: Decoder):
    assert decoder.count_params() == decoder.config.num_parameters


def test_every_weight_learns(golden: Golden, decoder: Decoder):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(decoder(golden.ids)))
    gradients = tape.gradient(loss, decoder.trainable_variables)
    assert len(gradients) == len(decoder.named_weights())
    assert all(np.abs(tf.convert_to_tensor(gradient)).max() > 0 for gradient in gradients)


@pytest.mark.parametrize("name", ["llama_tied_grouped", *EXPORTED])
def test_a_paged_stream_in_chunks_takes_the_best_id_of_the_full_forward(name: str, tmp_path: Path):
    golden = read_golden(name, tmp_path)
    decoder = load_checkpoint(golden.checkpoint)
    driver = PagedDriver(decoder)
    prompts = [golden.ids[0, :11].tolist(), golden.ids[1, :4].tolist()]
    for steps in ([1, 1, 7], [3, 6]):
        driver.recycle()
        for prompt, made in zip(prompts, driver.stream(prompts, steps, cuts=(3, 7)), strict=True):
            assert made == best_after(decoder, prompt, made)


def best_after(decoder: Decoder, prompt: list[int], made: list[int]) -> list[int]:
    """The best id after the prompt and after each of `made` but the last."""
    logits = decoder(np.array([prompt + made[:-1]], np.int32))[0, len(prompt) - 1 :]
    return tf.argmax(logits, axis=-1).numpy().tolist()


def loaded_by_tensorflow_2(package: Path) -> Call:
    model = tf.saved_model.load(str(package))

    def call(signature: str, **arrays: Any) -> dict[str, np.ndarray]:
        function = model.signatures[signature]
        specs = function.structured_input_signature[1]
        values = {name: tf.constant(value, specs[name].dtype) for name, value in arrays.items()}
        return {name: value.numpy() for name, value in function(**values).items()}

    return call


@contextmanager
def loaded(package: Path, way: str) -> Iterator[Call]:
    if way == "saved_model":
        yield loaded_by_tensorflow_2(package)
        return
    with SessionModel(package) as model:
        yield model.call


@pytest.mark.parametrize("way", ["saved_model", "session"])
def test_an_exported_package(exported: tuple[Golden, Path], way: str):
    golden, package = exported
    with loaded(package, way) as call:
        call("reset")
        check_scores(call, golden)
        check_prefill_and_decode(call, golden)
        for made, best in generated(call, golden):
            assert made == best
            assert len(made) == ANSWER or made[-1] == 0


def check_scores(call: Call, golden: Golden) -> None:
    found = call("score_ids", ids=golden.ids, lengths=[24, 17], score_from=[0, 5])
    nll = -np.take_along_axis(golden.logprobs[:, :-1], golden.ids[:, 1:, None], axis=-1)[..., 0]
    np.testing.assert_allclose(found["nll_sum"], [nll[0].sum(), nll[1, 4:16].sum()], rtol=1e-5)


def check_prefill_and_decode(call: Call, golden: Golden) -> None:
    """Feed the golden's ids, in two chunks and then one by one: the best 20 of every step."""
    table = np.array([[1, 2, 3, 4, 5, 6], [12, 11, 10, 9, 8, 7]], np.int32)
    rows = sampling_rows(2)
    for start, end in ((0, 5), (5, 12)):
        found = call(
            "prefill",
            ids=golden.ids[:, start:end],
            lengths=[end - start] * 2,
            start=[start] * 2,
            block_table=table,
            **rows,
        )
        check_best(found["top_ids"], found["top_logprobs"], golden, end - 1)
    for position in range(12, 24):
        found = call(
            "decode",
            last_id=golden.ids[:, position],
            length=[position] * 2,
            block_table=table,
            **rows,
            stop_ids=[[NO_ID]] * 2,
            steps=1,
        )
        check_best(found["top_ids"][:, 0], found["top_logprobs"][:, 0], golden, position)


def check_best(ids: np.ndarray, logprobs: np.ndarray, golden: Golden, position: int) -> None:
    wanted = golden.logprobs[:, position]
    np.testing.assert_allclose(logprobs, -np.sort(-wanted, axis=-1)[:, :20], atol=TOLERANCE, rtol=0)
    np.testing.assert_allclose(logprobs, np.take_along_axis(wanted, ids, axis=-1), atol=TOLERANCE, rtol=0)


def generated(call: Call, golden: Golden) -> Iterator[tuple[list[int], list[int]]]:
    """Answers to two prompts of different lengths in one call, and the best ids in their places."""
    decoder = load_checkpoint(golden.checkpoint)
    texts = [b"the deer", b"a"]
    prompts = call("tokenize", text=texts)
    splits = prompts["row_splits"]
    found = call("generate", text=texts, max_tokens=[ANSWER] * 2, **sampling_rows(2))
    for row in range(2):
        prompt = prompts["ids"][splits[row] : splits[row + 1]].tolist()
        ids = found["ids"][row][: found["length"][row]].tolist()
        yield ids, best_after(decoder, prompt, ids)


def test_a_package_gives_back_its_checkpoint(exported: tuple[Golden, Path], tmp_path: Path):
    golden, package = exported
    config = export_hf(package, tmp_path / "hf")
    assert config == load_checkpoint(golden.checkpoint).config
    np.testing.assert_allclose(
        load_checkpoint(tmp_path / "hf")(golden.ids), golden.logits, atol=TOLERANCE, rtol=0
    )
