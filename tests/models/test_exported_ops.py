"""What exported graphs are made of, and that nothing else is needed to run them.

Allowed are the operations that TensorFlow itself brings: `tf.raw_ops` lists them, and TensorFlow Serving
links them all. Besides, of TensorFlow Text's, the three below: they belong to its Bazel target
`//tensorflow_text:ops_lib`, which Serving's model server lists among its SUPPORTED_TENSORFLOW_OPS.
Of TensorFlow's own those are excluded that call Python, that hold mutable or initialised tables, and
that read files other than a checkpoint: they would tie a package to the process or the place it came from.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import tensorflow as tf
from tensorflow.core.protobuf import meta_graph_pb2, saved_model_pb2

from models.canonical_saved_model import GRAPH, canonicalize
from models.signatures.tensor_specs import input_specs
from models.signatures.text_signatures import TextSignatures
from preprocessing.tokenizers import GraphTokenizer, load_tokenizer
from preprocessing.tokenizers.tokenizer_spec import BYTE_LEVEL_BPE, BYTES, SENTENCEPIECE
from tests.preprocessing.tokenizers.every_kind import kinds

TEXT_OPS = {"SentencepieceOp", "SentencepieceTokenizeOp", "RegexSplitWithOffsets"}
EXCLUDED = re.compile(
    "Py(Func|thon)|^EagerPy|HashTable|Lookup|^InitializeTable|MutableDense|ReadFile|Reader|Iterator|Dataset"
)
KINDS = kinds()
TEXTS = ["It's  2024: e\u0301 \u4eac\u90fd!", "", "<|im_end|><s>\0 the\n\n"]

LOADER = """
import json, sys
import tensorflow as tf
import tensorflow_text
answers = {}
for name, path in json.loads(sys.argv[1]).items():
    with tf.compat.v1.Session(graph=tf.Graph()) as session:
        signature = tf.compat.v1.saved_model.load(session, ["serve"], path).signature_def["tokenize"]
        outputs = {name: tensor.name for name, tensor in signature.outputs.items()}
        values = session.run(outputs, {signature.inputs["text"].name: json.loads(sys.argv[2])})
        answers[name] = {name: value.tolist() for name, value in values.items()}
others = [name for name in ("tokenizers", "transformers", "sentencepiece", "models") if name in sys.modules]
print(json.dumps([answers, others]))
"""


def graph_of(package: Path) -> meta_graph_pb2.MetaGraphDef:
    proto = saved_model_pb2.SavedModel()
    proto.ParseFromString((package / GRAPH).read_bytes())
    return proto.meta_graphs[0]


def ops_of(package: Path) -> set[str]:
    graph = graph_of(package).graph_def
    nodes = [*graph.node, *(node for function in graph.library.function for node in function.node_def)]
    return {node.op for node in nodes}


def expect_allowed(package: Path) -> None:
    ops = ops_of(package)
    assert ops - set(dir(tf.raw_ops)) <= TEXT_OPS
    assert {op for op in ops if EXCLUDED.search(op)} == set()
    assert list(graph_of(package).asset_file_def) == []
    assert not list(package.glob("assets/*"))


def save(tokenizer: GraphTokenizer, directory: Path) -> None:
    """The text signatures alone, saved as an export does."""
    text = TextSignatures(tokenizer)
    signatures = {
        name: tf.function(function, input_signature=input_specs(name), autograph=False)
        for name, function in text.endpoints().items()
    }
    root = tf.Module()
    root.tokenizer = tokenizer
    tf.saved_model.save(root, str(directory), signatures)
    canonicalize(directory)


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[GraphTokenizer, Path]]:
    """Tokenizer and moved SavedModel of every kind; where it was written nothing is left."""
    result = {}
    for name, write in KINDS.items():
        folder = tmp_path_factory.mktemp("kind")
        files, written, moved = (folder / part for part in ("files", "written", "moved"))
        files.mkdir()
        write(files)
        tokenizer = load_tokenizer(files)
        save(tokenizer, written)
        shutil.rmtree(files)
        result[name] = tokenizer, written.rename(moved)
    return result


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_tokenizer_is_made_of_allowed_operations(
    exported: dict[str, tuple[GraphTokenizer, Path]], kind: str
):
    tokenizer, package = exported[kind]
    expect_allowed(package)
    assert TEXT_OPS & ops_of(package) or tokenizer.kind == BYTES


def test_every_kind_is_among_them(exported: dict[str, tuple[GraphTokenizer, Path]]):
    assert {tokenizer.kind for tokenizer, _ in exported.values()} == {BYTE_LEVEL_BPE, BYTES, SENTENCEPIECE}


def test_two_exports_are_equal(tmp_path: Path):
    """Of the kind with the most branches; `test_export` says it of a whole package."""
    KINDS["qwen2"](tmp_path)
    first, second = tmp_path / "first", tmp_path / "second"
    for directory in (first, second):
        save(load_tokenizer(tmp_path), directory)
    assert (first / GRAPH).read_bytes() == (second / GRAPH).read_bytes()


def test_whole_packages_are_made_of_allowed_operations(tiny_package: Path, tiny_xla_package: Path):
    for package in (tiny_package, tiny_xla_package):
        expect_allowed(package)
        assert ops_of(package) >= {"SentencepieceTokenizeOp", "ResourceGatherNd", "MatMul"}


def test_moved_files_load_where_only_tensorflow_and_its_text_operations_are(
    exported: dict[str, tuple[GraphTokenizer, Path]], tmp_path: Path
):
    folders = {name: str(path) for name, (_, path) in exported.items()}
    command = [sys.executable, "-I", "-c", LOADER, json.dumps(folders), json.dumps(TEXTS)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    answers, others = json.loads(done.stdout.splitlines()[-1])
    assert others == []
    assert answers.keys() == folders.keys()
    for name, (tokenizer, _) in exported.items():
        ids = TextSignatures(tokenizer).prompt(tf.constant(TEXTS))
        expected = {"ids": ids.values, "row_splits": ids.row_splits}
        assert answers[name] == {field: value.numpy().tolist() for field, value in expected.items()}
