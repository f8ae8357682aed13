"""BucketChoice: which compiled shape, if any, a decode call had better be padded to."""

from __future__ import annotations

from collections.abc import Collection

from models.contract.manifest import Manifest
from serving.runners.bucket import Bucket

_GAIN = {"float32": 1.0}
_GAIN_OF_PACKED = 4.0
"""What compilation saves of a step, in times that its weights take to be read. Without XLA, bfloat16
and int8 weights are widened at each step."""

_ROW = 0.17
"""What a padded row costs, in the same unit (docs/decisions/019-compiled-decode-buckets.md)."""

_BYTE = 3.0
"""How many times longer a byte of padded keys and values takes than a byte of weights."""


class BucketChoice:
    """Weighs what padding costs against what compilation saves.

    Args:
        manifest: of the package; a length of its `xla_buckets` counts the positions that a call
            reads and writes.

    Attributes:
        buckets: the package's shapes; those that need the fewest blocks come first, for they compile
            fastest and serve a server's first requests.
    """

    def __init__(self, manifest: Manifest) -> None:
        found = {Bucket(rows, -(-length // manifest.block_size)) for rows, length in manifest.xla_buckets}
        self.buckets = sorted(found, key=lambda bucket: (bucket.blocks, bucket.rows))
        weights = max(1, manifest.memory_bytes.get("weights", 1))
        self._block = _BYTE * manifest.kv_bytes_per_token * manifest.block_size / weights
        self._gain = _GAIN.get(manifest.dtype, _GAIN_OF_PACKED)

    def cheapest(self, rows: int, columns: int, warm: Collection[Bucket]) -> Bucket | None:
        """The warm bucket that covers a call with the least padding, None if not compiled is faster.

        Args:
            rows: sequences of the call.
            columns: blocks of its longest sequence, those that its steps write included.
            warm: buckets that are compiled.
        """
        covering = [bucket for bucket in warm if bucket.rows >= rows and bucket.columns >= columns]
        best = min(covering, key=lambda bucket: self._padding(bucket, rows, columns), default=None)
        return best if best and self._padding(best, rows, columns) <= self._gain else None

    def _padding(self, bucket: Bucket, rows: int, columns: int) -> float:
        return _ROW * (bucket.rows - rows) + self._block * (bucket.blocks - rows * columns)
