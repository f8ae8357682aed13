"""Steps that touch nobody's memory: rows of the null block, for warming a model up."""

from __future__ import annotations

from collections.abc import Iterable

from models.contract.sampling_params import SamplingParams
from models.contract.signatures import NULL_BLOCK
from serving.engine.decode_row import DecodeRow
from serving.engine.full_row import FullRow
from serving.engine.scheduler_output import SchedulerOutput
from serving.engine.verify_row import VerifyRow


def null_steps(signatures: Iterable[str]) -> list[SchedulerOutput]:
    """A step for each kind of row that not every request meets, as far as a package has them."""
    # Two columns: `verify` runs two positions, and a block may hold one only.
    row = DecodeRow("warm-up", 0, 0, (NULL_BLOCK, NULL_BLOCK), SamplingParams(temperature=0.0), ())
    steps = {
        "verify": SchedulerOutput(verifies=(VerifyRow(row, (0,)),)),
        "decode_full": SchedulerOutput(fulls=(FullRow(row, (0,), 0),)),
    }
    return [step for name, step in steps.items() if name in signatures]
