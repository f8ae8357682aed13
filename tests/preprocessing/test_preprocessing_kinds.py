"""preprocessing_fn in Beam with tokenizers of other kinds: the ids that the tokenizer gives by itself."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import tensorflow as tf
import tensorflow_transform as tft
import tensorflow_transform.beam as tft_beam
from tensorflow_transform.tf_metadata import dataset_metadata, schema_utils

from preprocessing.preprocessing_fn import preprocessing_fn, transform_config
from preprocessing.tokenizers import load_tokenizer
from tests.preprocessing.tokenizers import sentencepiece_models, vocabularies

TEXTS = [
    "def the_ring(x):\n\treturn 1234",
    "naïve 東京 🙂 e\u0301 \uac00",
    " two  spaces\u3000",
    "<s>[INST]<|im_start|> no mark <tool_call>",
    "",
]
COLUMNS = ("text", "source", "path", "group")


def write_sentencepiece(folder: Path) -> None:
    (folder / "tokenizer.model").write_bytes(sentencepiece_models.trained())


def write_qwen2(folder: Path) -> None:
    vocabularies.write(folder / "tokenizer.json", vocabularies.qwen2_json())


@pytest.mark.parametrize("write", [write_sentencepiece, pytest.param(write_qwen2, marks=pytest.mark.soak)])
def test_ids_in_beam_are_the_tokenizers_own(tmp_path: Path, write: Callable[[Path], None]):
    write(tmp_path)
    own = dict(zip(TEXTS, load_tokenizer(tmp_path).encode_batch(TEXTS), strict=True))
    assert ids_by_beam(tmp_path) == own
    layer = tft.TFTransformOutput(str(tmp_path / "transform")).transform_features_layer()
    moved = layer({name: tf.constant(TEXTS) for name in COLUMNS})
    assert tf.RaggedTensor.from_sparse(moved["ids"]).to_list() == [own[text] for text in TEXTS]


def ids_by_beam(folder: Path) -> dict[str, list[int]]:
    """Ids of TEXTS by text as the DirectRunner makes them; writes the graph that made them."""
    spec = {name: tf.io.FixedLenFeature([], tf.string) for name in COLUMNS}
    metadata = dataset_metadata.DatasetMetadata(schema_utils.schema_from_feature_spec(spec))
    rows = [{name: text.encode() for name in COLUMNS} for text in TEXTS]
    config = transform_config(folder)
    with tft_beam.Context(temp_dir=str(folder / "temp")):
        (made, _), transform_fn = (rows, metadata) | tft_beam.AnalyzeAndTransformDataset(
            lambda inputs: preprocessing_fn(inputs, config)
        )
        _ = transform_fn | tft_beam.WriteTransformFn(str(folder / "transform"))
    return {row["path"][0].decode(): [int(index) for index in row["ids"]] for row in made}
