"""BucketChoice: which compiled shape, if any, a decode call had better go through."""

from __future__ import annotations

from collections.abc import Collection

from models.contract.manifest import Manifest
from serving.runners.bucket import Bucket

_GAIN, _GAIN_OF_A_ROW = 0.85, 0.16
"""What compilation saves of a step, and more of it for every row, in times that its weights take to be
read (docs/decisions/019-compiled-decode-buckets.md)."""

_GAIN_OF_PACKED = 3.0
"""On top, where weights are bfloat16 or int8: without XLA they are widened at each step."""

_ROW = 0.17
"""What a padded row costs, in the same unit."""

_CALL = 1.5
"""What one more call costs, which reads the weights again."""

_BYTE = 3.0
"""How many times longer a byte of padded keys and values takes than a byte of weights, and a live one
more without XLA, which gathers them at each step."""


class BucketChoice:
    """Weighs what padding and further calls cost against what compilation saves.

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
        self._gain = _GAIN + (0.0 if manifest.dtype == "float32" else _GAIN_OF_PACKED)

    def cheapest(self, rows: int, columns: int, warm: Collection[Bucket]) -> Bucket | None:
        """The warm bucket for a call, None if not compiled is faster.

        Args:
            rows: sequences of the call. A bucket of fewer takes them in several calls.
            columns: blocks of its longest sequence, those that its steps write included.
            warm: buckets that are compiled.
        """
        covering = [bucket for bucket in warm if bucket.columns >= columns]
        best = min(covering, key=lambda bucket: self._cost(bucket, rows, columns), default=None)
        saved = self._gain + _GAIN_OF_A_ROW * rows + self._block * rows * columns
        return best if best and self._cost(best, rows, columns) <= saved else None

    def _cost(self, bucket: Bucket, rows: int, columns: int) -> float:
        calls = -(-rows // bucket.rows)
        padded_blocks = calls * bucket.blocks - rows * columns
        return _CALL * (calls - 1) + _ROW * (calls * bucket.rows - rows) + self._block * padded_blocks
