"""Packages in a version 1 Session: with TensorFlow alone, moved, again and again."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from models.contract.errors import EngineError, InvalidRequestError, PackageError
from serving.runners.session_model import SessionModel, _cause

ALONE = """
import json, sys
import numpy as np
import tensorflow as tf
import tensorflow_text

nonces, package = [], sys.argv[1]
for _ in range(2):
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        signatures = tf.compat.v1.saved_model.load(session, ["serve"], package).signature_def

        def call(name, **inputs):
            signature = signatures[name]
            fetches = {key: info.name for key, info in signature.outputs.items()}
            return session.run(fetches, {signature.inputs[key].name: v for key, v in inputs.items()})

        none = np.zeros(1, np.int32)
        nonces.append(int(call("copy_blocks", source=none, target=none)["nonce"]))
        nonces.append(int(call("reset")["nonce"]))
        text = call("serving_default", text=np.array([b"def the ring"], object))["text"][0]
foreign = {name.split(".")[0] for name in sys.modules} & {"models", "serving", "preprocessing"}
print(json.dumps({"nonces": nonces, "text": text.decode(), "foreign": sorted(foreign)}))
"""

CYCLE = """
import gc, sys
from pathlib import Path
import psutil
from serving.runners.session_model import SessionModel

sizes = []
for _ in range(21):
    with SessionModel(Path(sys.argv[1])) as model:
        model.call("reset")
    gc.collect()
    sizes.append(psutil.Process().memory_info().rss)
print(sizes[1], sizes[-1])
"""


def run(script: str, package: Path, cwd: Path) -> str:
    command = [sys.executable, "-c", script, str(package)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=cwd, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.fixture
def model(tiny_package: Path):
    with SessionModel(tiny_package) as model:
        yield model


def test_a_moved_package_needs_only_tensorflow_and_its_nonces_all_differ(tiny_package: Path, tmp_path: Path):
    moved = tmp_path / "elsewhere" / "17"
    shutil.copytree(tiny_package, moved)
    results = [json.loads(run(ALONE, moved, tmp_path)) for _ in range(2)]
    assert [result["foreign"] for result in results] == [[], []]
    assert len({nonce for result in results for nonce in result["nonces"]}) == 8
    assert results[0]["text"] == results[1]["text"] != ""


@pytest.mark.slow
def test_loading_and_closing_twenty_times_does_not_grow_memory(tiny_package: Path):
    root = Path(__file__).resolve().parents[3]
    early, late = map(int, run(CYCLE, tiny_package, root).split())
    # Twenty leaks of the KV memory alone would be 160 MB.
    assert late - early < 60e6


def test_serving_default_takes_one_input(model: SessionModel):
    inputs, outputs = model.signatures["serving_default"]
    assert (list(inputs), list(outputs)) == (["text"], ["text"])


def test_state_lives_between_calls_and_reset_changes_the_nonce(model: SessionModel):
    none = np.zeros(1, np.int32)
    first = int(model.call("copy_blocks", source=none, target=none)["nonce"])
    assert int(model.call("copy_blocks", source=none, target=none)["nonce"]) == first
    assert int(model.call("reset")["nonce"]) != first


def test_too_long_a_text_is_refused_with_the_numbers(model: SessionModel):
    with pytest.raises(InvalidRequestError, match=r"exceeds the context of 256 tokens.*\[300\]") as caught:
        model.call("score_text", text=np.array([b"x" * 300], object))
    assert caught.value.field == "text"


def test_wrong_inputs_are_named(model: SessionModel):
    with pytest.raises(EngineError, match=r"takes \['text'\], got \['txt'\]"):
        model.call("tokenize", txt=np.array([b"a"], object))
    with pytest.raises(EngineError, match="`nothing` is not in"):
        model.call("nothing")
    with pytest.raises(EngineError, match="`tokenize` failed"):
        model.call("tokenize", text=np.array([[b"a"]], object))


def test_a_failure_tells_its_cause_in_one_line(model: SessionModel):
    row = np.ones(1, np.int32)
    sampling = {"temperature": 0.0 * row, "top_k": 0 * row, "top_p": row, "min_p": 0 * row, "seed": row}
    table = 1 + np.arange(4)[None]
    ids = {"ids": [[5, 99_999]], "lengths": 2 * row, "start": 0 * row}
    cause = r"^signature `prefill` failed: indices\[0,1\] = 99999 is not in \[0, \d+\)\.$"
    with pytest.raises(EngineError, match=cause):
        model.call("prefill", **ids, block_table=table, **sampling)
    stops = {"stop_ids": -row[None], "steps": 1}
    cause = r"^signature `decode` failed: indices\[0\S* = -7 is not in .*\.$"
    with pytest.raises(EngineError, match=cause):
        model.call("decode", last_id=-7 * row, length=row, block_table=table, **stops, **sampling)


HEAD = "Graph execution error:\n\n"
NODE = """Detected at node 'a/b' defined at (most recent call last):
  File "x.py", line 3, in <module>
    f(1)
Node: 'a/b'
"""
CAUSE = "indices[0] = 9 is not in [0, 9)"
TRAIL = "\n\t [[{{node a/b}}]]\n\t [[c/_11]]"


@pytest.mark.parametrize(
    ("message", "cause"),
    [
        ("Cannot feed this.", "Cannot feed this"),
        (f"{HEAD}{CAUSE}", CAUSE),
        (f"{HEAD}{NODE}{CAUSE}{TRAIL}", CAUSE),
        (
            f"{HEAD}{NODE}{NODE}2 root error(s) found.\n  (0) INVALID_ARGUMENT:  {CAUSE}{TRAIL}\n"
            f"  (1) INTERNAL: other\n0 successful operations.",
            CAUSE,
        ),
        (f"{HEAD}{NODE}" + "x" * 999, "x" * 299 + "…"),
        ("", "ResourceExhaustedError"),
    ],
)
def test_the_cause_is_what_follows_the_nodes(message: str, cause: str):
    assert _cause(tf.errors.ResourceExhaustedError(None, None, message)) == cause


def test_a_directory_without_a_model_is_refused(tmp_path: Path):
    with pytest.raises(PackageError, match="cannot load it"):
        SessionModel(tmp_path)


def test_closing_twice_is_harmless_and_calls_are_refused_then(tiny_package: Path):
    model = SessionModel(tiny_package)
    model.close()
    model.close()
    with pytest.raises(EngineError, match="is closed"):
        model.call("reset")
