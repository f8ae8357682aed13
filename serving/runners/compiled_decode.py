"""CompiledDecode: sends decode calls to `decode_xla` where that is ready and faster."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from models.contract.manifest import Manifest
from models.contract.runner_observer import RunnerObserver
from models.contract.signatures import MAX_XLA_STEPS
from serving.runners.bucket import Bucket
from serving.runners.bucket_choice import BucketChoice
from serving.runners.padded_rows import Arrays, cut_rows, groups_of_rows, joined_rows, pad_rows


class CompiledDecode:
    """Stands between an engine's calls and the package.

    Args:
        manifest: of the package.
        observer: told of every decode call.

    Attributes:
        buckets: shapes the package wants compiled, the most useful ones first.
        warm: those that are compiled; only they are used, or a request would wait for the compiler.
    """

    def __init__(self, manifest: Manifest, observer: RunnerObserver) -> None:
        self._block_size = manifest.block_size
        self._choice = BucketChoice(manifest)
        self._observer = observer
        self.buckets = self._choice.buckets if "decode_xla" in manifest.signatures else []
        self.warm: frozenset[Bucket] = frozenset()

    def add_warm(self, bucket: Bucket) -> None:
        """Use a bucket from the next call on; called by the one thread that warms."""
        self.warm |= {bucket}

    def run(self, call: Callable[..., dict[str, Any]], signature: str, **arrays: Any) -> dict[str, Any]:
        """Run a signature; all but `decode` pass unchanged.

        Args:
            call: runs a signature with the given arrays and returns all its outputs.
            signature: its name.
            arrays: its inputs by name.
        """
        if signature != "decode":
            return call(signature, **arrays)
        bucket = self._bucket(arrays)
        self._observer.decode_call(compiled=bucket is not None)
        if bucket is None:
            return call("decode", **arrays)
        groups = groups_of_rows(arrays, bucket.rows)
        made = [call("decode_xla", **pad_rows(group, bucket)) for group in groups]
        return cut_rows(joined_rows(made), len(arrays["last_id"]))

    def _bucket(self, arrays: Arrays) -> Bucket | None:
        steps = int(arrays["steps"])
        if not self.warm or steps > MAX_XLA_STEPS:
            return None
        # One column short, and the last steps would be written to the null block.
        columns = -(-(int(arrays["length"].max()) + steps) // self._block_size)
        return self._choice.cheapest(len(arrays["last_id"]), columns, self.warm)
