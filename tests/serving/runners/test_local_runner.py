"""The runner around a package: text, scores, answers, and what it refuses to load."""

from __future__ import annotations

import dataclasses
import shutil
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from models.checkpoint import load_checkpoint
from models.contract.errors import InvalidRequestError, PackageError
from models.contract.manifest import MANIFEST_PATH, VOCAB_PATH, Manifest
from models.contract.sampling_params import SamplingParams
from models.contract.signatures import NO_ID
from models.contract.vocab import write_vocab
from models.decoder import Decoder
from models.warmup import warmup_calls
from preprocessing.tokenizers import load_tokenizer
from serving.runners.local_runner import LocalRunner

TEXTS = ["def the ring", "", "naïve 東京 🙂 12", "  in the\n\tre"]
GREEDY = SamplingParams(max_tokens=40, temperature=0.0)


@pytest.fixture(scope="module")
def runner(tiny_package: Path):
    with LocalRunner(tiny_package) as runner:
        yield runner


@pytest.fixture(scope="module")
def decoder(tiny_checkpoint: Path) -> Decoder:
    return load_checkpoint(tiny_checkpoint)


def logprobs_of(decoder: Decoder, ids: list[int]) -> np.ndarray:
    return tf.nn.log_softmax(decoder(tf.constant([ids], tf.int32))[0]).numpy()


def test_text_goes_to_ids_and_back_as_outside_the_package(runner: LocalRunner, tiny_checkpoint: Path):
    ids = runner.tokenize(TEXTS)
    assert ids == load_tokenizer(tiny_checkpoint).encode_batch(TEXTS)
    assert runner.detokenize(ids) == TEXTS
    assert runner.tokenize([]) == runner.detokenize([]) == []


def test_special_tokens_come_from_segments_only(runner: LocalRunner):
    piece = runner.tokenize(["user\nin"])[0]
    assert runner.tokenize_segments([[1, "user\nin", 2], [], ["the"]]) == [
        [1, *piece, 2],
        [],
        runner.tokenize(["the"])[0],
    ]
    assert 1 not in runner.tokenize(["<|im_start|>"])[0]


def test_generate_is_the_greedy_uncached_stream(runner: LocalRunner, decoder: Decoder):
    # Forty tokens cross the step groups of the loop; the empty prompt starts from the end id.
    for prompt, answer in zip(runner.tokenize(TEXTS), runner.generate(TEXTS, GREEDY), strict=True):
        ids = list(prompt or [0])
        start, total = len(ids), 0.0
        while len(ids) - start < 40 and (len(ids) == start or ids[-1] != 0):
            last = logprobs_of(decoder, ids)[-1]
            ids.append(int(last.argmax()))
            total += float(last.max())
        assert answer.ids == ids[start:]
        assert answer.logprob_sum == pytest.approx(total, abs=1e-3)


def test_generate_does_not_depend_on_the_batch(runner: LocalRunner):
    params = SamplingParams(max_tokens=25, temperature=0.9, top_p=0.9, seed=3)
    together = runner.generate(TEXTS, params)
    assert [runner.generate([text], params)[0].ids for text in TEXTS] == [row.ids for row in together]


def test_generate_ends_at_the_end_id_which_is_not_text(runner: LocalRunner):
    # At this temperature every id is about as likely: among many seeds some end early.
    answers = [
        runner.generate(["the"] * 30, SamplingParams(max_tokens=60, temperature=2.0, seed=seed))[0]
        for seed in range(12)
    ]
    reasons = {answer.finish_reason for answer in answers}
    assert reasons == {"stop", "length"}
    for answer in answers:
        stopped = answer.finish_reason == "stop"
        assert (0 in answer.ids) == stopped
        assert len(answer.ids) == 60 or answer.ids.index(0) == len(answer.ids) - 1
        assert answer.text == runner.detokenize([answer.ids[:-1] if stopped else answer.ids])[0]


def test_rows_of_generate_have_their_own_length_and_padding(runner: LocalRunner):
    result = runner.call(
        "generate",
        text=np.array([b"the", b"ring"], object),
        max_tokens=np.array([2, 5], np.int32),
        temperature=np.zeros(2, np.float32),
        top_k=np.zeros(2, np.int32),
        top_p=np.ones(2, np.float32),
        min_p=np.zeros(2, np.float32),
        seed=np.zeros(2, np.int64),
    )
    assert result["ids"].shape == (2, 5)
    assert result["ids"][0, 2:].tolist() == [NO_ID] * 3
    assert result["length"].tolist() == [2, 5]


def test_serving_default_answers_greedily(runner: LocalRunner):
    result = runner.call("serving_default", text=np.array([text.encode() for text in TEXTS], object))
    wanted = runner.generate(TEXTS, SamplingParams(max_tokens=64, temperature=0.0))
    assert [text.decode() for text in result["text"]] == [answer.text for answer in wanted]


def test_prompt_and_answer_must_fit(runner: LocalRunner):
    with pytest.raises(InvalidRequestError, match=r"context of 256 tokens.*\[200\].*\[57\]"):
        runner.generate(["x" * 200], SamplingParams(max_tokens=57))
    assert len(runner.generate(["x" * 200], SamplingParams(max_tokens=56, temperature=0))[0].ids) <= 56


def test_stop_strings_are_the_engines(runner: LocalRunner):
    with pytest.raises(InvalidRequestError, match="engine"):
        runner.generate(["a"], SamplingParams(stop=("b",)))
    with pytest.raises(
        InvalidRequestError, match=r"`presence_penalty` is not taken by.*own generate"
    ) as caught:
        runner.generate(["a"], SamplingParams(presence_penalty=0.5))
    assert caught.value.field == "presence_penalty"


def test_score_counts_what_it_should(runner: LocalRunner, decoder: Decoder):
    random = np.random.default_rng(0)
    ids = random.integers(3, 250, (3, 12)).astype(np.int32)
    lengths, score_from = np.array([12, 5, 1]), np.array([0, 3, 0])
    nll_sum, scored = runner.score(ids, lengths, score_from)
    assert scored.tolist() == [11, 2, 0]
    for row in range(3):
        logprobs = logprobs_of(decoder, ids[row].tolist())
        wanted = -sum(logprobs[t - 1, ids[row, t]] for t in range(max(1, score_from[row]), lengths[row]))
        assert nll_sum[row] == pytest.approx(wanted, abs=1e-3)


def test_score_text_scores_ids_and_counts_bytes(runner: LocalRunner):
    result = runner.call("score_text", text=np.array([text.encode() for text in TEXTS], object))
    ids = runner.tokenize(TEXTS)
    padded = np.zeros([len(ids), max(map(len, ids))], np.int32)
    for row, values in enumerate(ids):
        padded[row, : len(values)] = values
    nll_sum, scored = runner.score(padded, np.array([*map(len, ids)]), np.zeros(len(ids)))
    np.testing.assert_allclose(result["nll_sum"], nll_sum, rtol=1e-6)
    assert result["scored"].tolist() == scored.tolist()
    assert result["bytes"].tolist() == [len(text.encode()) for text in TEXTS]


def test_every_warm_up_call_runs(runner: LocalRunner):
    for signature, inputs in warmup_calls(runner.manifest.signatures):
        before = runner.nonce
        runner.call(signature, **inputs)
        assert (runner.nonce != before) == (signature == "reset")


@pytest.fixture
def copy(tiny_package: Path, tmp_path: Path) -> Path:
    shutil.copytree(tiny_package, tmp_path / "3")
    return tmp_path / "3"


def test_another_tokenizer_than_the_manifests_is_refused(copy: Path):
    manifest = Manifest.load(copy)
    golden = (("Hello", (4, 5)),)
    tokenizer = dataclasses.replace(manifest.tokenizer, golden=golden)
    (copy / MANIFEST_PATH).write_text(dataclasses.replace(manifest, tokenizer=tokenizer).to_json())
    with pytest.raises(PackageError, match="the tokenizer turns 'Hello' into"):
        LocalRunner(copy)


def test_a_vocabulary_of_another_size_is_refused(copy: Path):
    write_vocab(copy / VOCAB_PATH, [b"a"] * 9999)
    with pytest.raises(PackageError, match="holds 9999 ids"):
        LocalRunner(copy)


def test_a_folder_without_a_manifest_is_refused(tmp_path: Path):
    with pytest.raises(PackageError, match="not a Tokenmill model package"):
        LocalRunner(tmp_path)


@pytest.mark.parametrize(
    ("name", "value"),
    [("temperature", float("nan")), ("temperature", 3.0), ("top_k", -1), ("top_p", 0.0), ("min_p", 1.5)],
)
def test_generate_refuses_a_value_out_of_range_by_name(runner, name, value):
    rows = {
        "temperature": 0.0,
        "top_k": 0,
        "top_p": 1.0,
        "min_p": 0.0,
        "seed": 0,
        "max_tokens": 2,
        name: value,
    }
    with pytest.raises(InvalidRequestError, match=f"`{name}` must be"):
        runner.call("generate", text=np.array([b"the"], object), **{key: [v] for key, v in rows.items()})


def test_a_segment_that_is_no_special_token_is_refused(runner):
    with pytest.raises(InvalidRequestError, match="`special_id` must be"):
        runner.tokenize_segments([["the", 99_999]])
