"""SessionModel: a model package in a version 1 Session, the way TensorFlow Serving loads it."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Self

import numpy as np
import tensorflow as tf
import tensorflow_text  # noqa: F401  registers the ops of the in-graph tokenizer
from tensorflow.python.saved_model.loader_impl import SavedModelLoader  # the public loader is one step

from models.contract.errors import EngineError, InvalidRequestError, PackageError
from serving.runners.released_memory import release_freed_memory

_ASSERTION = re.compile(r"assertion failed: \[(?P<text>.*?)\](?P<values>( \[[^\]]*\])*)", re.DOTALL)
_NODES = re.compile(r"^Detected at node .*^Node: [^\n]*$", re.DOTALL | re.MULTILINE)
_HEADLINE = re.compile(r"Graph execution error:$|\d+ root error\(s\) found\.$")
_NUMBER = re.compile(r"^\(\d+\) [A-Z_]+:\s*")
_LONGEST_CAUSE = 300
"""Characters; an operation may list all its inputs."""


class SessionModel:
    """A loaded package; its variables and KV memory live until `close`.

    Calls may come from several threads at once, as a model server's do, as long as no two of them
    touch the same KV blocks (the null block excepted, which nobody reads).

    Args:
        package: version directory.
        threads: of computation; 0 leaves the choice to TensorFlow.
        executor_built: told of each signature's first call.

    Attributes:
        signatures: name → (inputs, outputs), each a mapping from a tensor's name to its tensor.

    Raises:
        PackageError: the directory cannot be loaded.
    """

    def __init__(
        self, package: Path, threads: int = 0, executor_built: Callable[[str], None] = lambda _: None
    ) -> None:
        self.package = package
        self._closed = False
        self._executor_built = executor_built
        self._preparing = threading.Lock()
        self._calls: dict[str, tuple[list[str], list[str], Callable[..., Any]]] = {}
        config = tf.compat.v1.ConfigProto(intra_op_parallelism_threads=threads)
        # It copies the whole graph at each signature's first call and makes no step faster
        # (docs/decisions/006-no-graph-optimiser.md).
        config.graph_options.rewrite_options.disable_meta_optimizer = True
        self._graph = tf.Graph()
        self._session = tf.compat.v1.Session(graph=self._graph, config=config)
        try:
            with self._graph.as_default():
                self.signatures = self._load(str(package))
        except (OSError, RuntimeError, ValueError, tf.errors.OpError) as error:
            self.close()
            raise PackageError(
                f"{package}: TensorFlow cannot load it: {_cause(error)}.",
                field=str(package),
                remedy="Export or push the package again.",
            ) from error

    def _load(self, package: str) -> dict[str, tuple[Mapping[str, Any], Mapping[str, Any]]]:
        """What `tf.compat.v1.saved_model.load` does, in steps, for the sake of peak memory."""
        loader = SavedModelLoader(package)
        saver, _ = loader.load_graph(self._graph, ["serve"])
        self._session.run(tf.no_op())
        release_freed_memory()
        loader.restore_variables(self._session, saver)
        loader.run_init_ops(self._session, ["serve"])
        found = loader.get_meta_graph_def_from_tags(["serve"]).signature_def
        # Copied: a part of a message keeps all of it, here the graph.
        copies = {name: type(found[name])() for name in found if not name.startswith("__")}
        for name, copy in copies.items():
            copy.CopyFrom(found[name])
        return {name: (copy.inputs, copy.outputs) for name, copy in copies.items()}

    def call(self, signature: str, **arrays: Any) -> dict[str, np.ndarray]:
        """Run a signature and fetch all its outputs.

        Args:
            signature: its name.
            arrays: one value per input, by name; anything NumPy turns into its dtype and shape.

        Raises:
            InvalidRequestError: an assertion in the graph refused a value.
            EngineError: no such signature, wrong inputs, or the call failed.
        """
        names, outputs, run = self._prepared(signature)
        if sorted(names) != sorted(arrays):
            raise EngineError(f"signature `{signature}` takes {sorted(names)}, got {sorted(arrays)}.")
        try:
            values = run(*[arrays[name] for name in names])
        except tf.errors.InvalidArgumentError as error:
            raise _refusal(error, signature) from error
        except (tf.errors.OpError, ValueError, RuntimeError) as error:
            raise EngineError(f"signature `{signature}` failed: {_cause(error)}.") from error
        return dict(zip(outputs, values, strict=True))

    def _prepared(self, signature: str) -> tuple[list[str], list[str], Callable[..., Any]]:
        prepared = self._calls.get(signature)
        if prepared is None:
            # Who waits here wants an executor too; calls that have theirs go on.
            with self._preparing:
                prepared = self._calls.get(signature) or self._prepare(signature)
        return prepared

    def _prepare(self, signature: str) -> tuple[list[str], list[str], Callable[..., Any]]:
        if self._closed:
            raise EngineError(f"the model of {self.package} is closed.")
        if signature not in self.signatures:
            raise EngineError(f"signature `{signature}` is not in {self.package}.")
        inputs, outputs = self.signatures[signature]
        # Always the same feeds and fetches: the session builds an executor per distinct set.
        run = self._session.make_callable(
            [self._tensor(info) for info in outputs.values()],
            feed_list=[self._tensor(info) for info in inputs.values()],
        )
        self._executor_built(signature)
        self._calls[signature] = (list(inputs), list(outputs), run)
        return self._calls[signature]

    def _tensor(self, info: Any) -> Any:
        return self._graph.get_tensor_by_name(info.name)

    def close(self) -> None:
        """Free the weights and the KV memory. Closing twice is harmless."""
        self._closed = True
        self._calls.clear()
        self._session.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _cause(error: Exception) -> str:
    """What went wrong, in one line.

    TensorFlow puts what it was doing before it: a headline, for each node "Detected at node", its stack,
    "Node: …", and the number of errors if several nodes failed.
    """
    text = getattr(error, "message", None) or str(error)
    lines = _NODES.sub("", text).strip().splitlines()
    said = [line.strip() for line in lines if line.strip() and not _HEADLINE.match(line)]
    cause = _NUMBER.sub("", said[0]) if said else type(error).__name__
    return (cause if len(cause) <= _LONGEST_CAUSE else cause[: _LONGEST_CAUSE - 1] + "…").rstrip(".")


def _refusal(error: tf.errors.InvalidArgumentError, signature: str) -> InvalidRequestError | EngineError:
    found = _ASSERTION.search(error.message)
    if found is None:
        return EngineError(f"signature `{signature}` failed: {_cause(error)}.")
    text = f"{found['text']}{found['values']}".replace("\\'", "'")
    field = re.search(r"`(\w+)`", text)
    return InvalidRequestError(text, field=field[1] if field else None)
