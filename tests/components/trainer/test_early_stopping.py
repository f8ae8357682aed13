from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from components.trainer.early_stopping import EarlyStopping, stop_summary
from components.trainer.early_stopping_config import EarlyStoppingConfig
from components.trainer.validation_record import ValidationRecord

LOSSES = st.lists(st.floats(0, 10, allow_nan=False), min_size=1, max_size=12)


def _records(losses: list[float], first: int = 0) -> list[ValidationRecord]:
    return [ValidationRecord(10 * (i + first), loss) for i, loss in enumerate(losses)]


def test_it_stops_after_patience_validations_without_an_improvement():
    stopping = EarlyStopping(EarlyStoppingConfig(patience=2, min_delta=0.1))
    records = _records([9.0, 3.0, 2.0, 1.95, 1.92])
    assert [stopping.should_stop(records[:n]) for n in range(1, 6)] == [False, False, False, False, True]
    last = stopping.last_improvement(records)
    assert last is not None
    assert last.step == 20


def test_the_best_is_the_least_loss_however_little_it_improves():
    config = EarlyStoppingConfig(patience=3, min_delta=10)
    records = _records([7.24, 6.43, 5.38, 4.72], first=1)
    stopping = EarlyStopping(config)
    assert stopping.should_stop(records)
    assert stopping.best(records) == records[-1]
    assert stop_summary(config, records, 40, 100)["text"] == (
        "Training ended early after step 40 of 100: the validation loss did not fall by more than 10 below "
        "7.2400 in 3 validations."
    )
    later = [*records, ValidationRecord(50, 4.9)]
    told = stop_summary(config, later, 50, 100)
    assert told["best_step"] == 40
    assert told["text"].endswith("The weights are those after step 40, whose validation loss is the lowest.")


def test_the_start_is_no_result():
    stopping = EarlyStopping(EarlyStoppingConfig(patience=1))
    assert stopping.best(_records([1.0])) is None
    assert not stopping.should_stop(_records([1.0, 2.0]))
    assert stopping.should_stop(_records([1.0, 2.0, 3.0]))
    assert stopping.best(_records([1.0, 2.0, 3.0])) == ValidationRecord(10, 2.0)


@given(losses=LOSSES, patience=st.integers(1, 4), min_delta=st.floats(0, 1))
def test_it_decides_as_one_that_watched_from_the_start(losses, patience, min_delta):
    best, since = float("inf"), 0
    for loss in losses:
        best, since = (loss, 0) if loss < best - min_delta else (best, since + 1)
        if since >= patience:
            break
    stopping = EarlyStopping(EarlyStoppingConfig(patience=patience, min_delta=min_delta))
    prefixes = [_records(losses[:n], first=1) for n in range(1, len(losses) + 1)]
    first = next((records for records in prefixes if stopping.should_stop(records)), prefixes[-1])
    last = stopping.last_improvement(first)
    assert last is not None
    assert last.loss == best
    assert stopping.should_stop(first) == (since >= patience)


@given(losses=LOSSES, min_delta=st.floats(0, 1))
def test_the_best_is_the_first_of_the_lowest(losses, min_delta):
    found = EarlyStopping(EarlyStoppingConfig(min_delta=min_delta)).best(_records(losses, first=1))
    assert found == ValidationRecord(10 * (1 + losses.index(min(losses))), min(losses))


def test_the_reason_is_told_in_words():
    config = EarlyStoppingConfig(patience=2)
    stopped = stop_summary(config, _records([9.0, 3.0, 4.0, 5.0]), 30, 100)
    assert (stopped["reason"], stopped["best_step"], stopped["planned_steps"]) == ("early_stopping", 10, 100)
    assert stopped["text"] == (
        "Training ended early after step 30 of 100: the validation loss did not fall below 3.0000 in "
        "2 validations. The weights are those after step 10, whose validation loss is the lowest."
    )
    whole = stop_summary(None, _records([9.0, 3.0, 4.0]), 20, 20)
    assert (whole["reason"], whole["best_step"], whole["text"]) == (
        "completed",
        20,
        "Training made all 20 steps.",
    )
