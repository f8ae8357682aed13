"""An evaluation in the format of TensorFlow Model Analysis, so that its viewers read it.

The folder holds what TFMA's own writers leave: `eval_config.json`, and TFRecords of metrics per slice,
of plots and attributions (none) and of the validation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

CANDIDATE, BASELINE = "candidate", "baseline"
"""Names of the two models in TFMA's results."""

_METRICS = ("perplexity", "bits_per_byte")
_COUNTS = {"example_count": "windows", "scored_tokens": "scored", "documents": "documents"}
"""TFMA's viewers weigh slices by `example_count`."""


def write_tfma(folder: Path, results: Mapping[str, Any], package: str) -> None:
    """Write an evaluation's results for `tfma.load_eval_result` and `tfma.load_validation_result`.

    Args:
        folder: created if absent.
        results: of the evaluation, as in `results.json`.
        package: the candidate's path; the baseline's is in the results.
    """
    from google.protobuf import json_format
    from tensorflow_model_analysis.proto import config_pb2
    from tensorflow_model_analysis.version import VERSION

    folder.mkdir(parents=True, exist_ok=True)
    run = config_pb2.EvalRun(
        eval_config=_eval_config(results),
        version=VERSION,
        file_format="tfrecords",
        model_locations={CANDIDATE: package, BASELINE: results["baseline_path"]},
    )
    (folder / "eval_config.json").write_text(json_format.MessageToJson(run), encoding="utf-8")
    slices = [results, *results["slices"]]
    _write(folder / "metrics-00000-of-00001.tfrecord", map(_metrics, slices))
    _write(folder / "validations.tfrecord", [_validation(results)])
    for empty in ("plots", "attributions"):
        _write(folder / f"{empty}-00000-of-00001.tfrecord", [])


def _eval_config(results: Mapping[str, Any]) -> Any:
    from tensorflow_model_analysis.proto import config_pb2

    ratio = next((check for check in results["checks"] if check["name"] == "gate.max_ratio"), None)
    metrics = [config_pb2.MetricConfig(class_name=name) for name in (*_METRICS, *_COUNTS)]
    if ratio and ratio["limit"] is not None:
        metrics[0].threshold.CopyFrom(_ratio_threshold(ratio["limit"]))
    properties = dict.fromkeys(one["by"] for one in results["slices"])
    return config_pb2.EvalConfig(
        model_specs=[
            config_pb2.ModelSpec(name=CANDIDATE),
            config_pb2.ModelSpec(name=BASELINE, is_baseline=True),
        ],
        slicing_specs=[
            config_pb2.SlicingSpec(),
            *(config_pb2.SlicingSpec(feature_keys=[name]) for name in properties),
        ],
        metrics_specs=[config_pb2.MetricsSpec(metrics=metrics, model_names=[CANDIDATE, BASELINE])],
    )


def _metrics(one: Mapping[str, Any]) -> Any:
    from tensorflow_model_analysis.proto import metrics_for_slice_pb2

    message = metrics_for_slice_pb2.MetricsForSlice(slice_key=_slice_key(one))
    for name, value, interval, key in _figures(one):
        entry = message.metric_keys_and_values.add(key=metrics_for_slice_pb2.MetricKey(name=name, **key))
        # TFMA knows NaN; JSON, where the results come from, does not.
        entry.value.double_value.value = float("nan") if value is None else value
        if interval:
            entry.confidence_interval.lower_bound.double_value.value = interval[0]
            entry.confidence_interval.upper_bound.double_value.value = interval[1]
    return message


def _figures(
    one: Mapping[str, Any],
) -> Iterator[tuple[str, float | None, Sequence[float] | None, dict[str, Any]]]:
    """Name, value, interval and key of every metric of a slice."""
    intervals = one["intervals"]
    for name in _METRICS:
        before = f"baseline_{name}"
        yield name, one[name], intervals[name], {"model_name": CANDIDATE}
        yield name, one[before], intervals[before], {"model_name": BASELINE}
        yield (
            name,
            _change(one, name),
            _change_interval(one, name),
            {"model_name": CANDIDATE, "is_diff": True},
        )
    yield "perplexity_ratio", one["ratio"], intervals["ratio"], {"model_name": CANDIDATE}
    for name, field in _COUNTS.items():
        yield name, one[field], None, {}


def _change(one: Mapping[str, Any], name: str) -> float | None:
    after, before = one[name], one[f"baseline_{name}"]
    return None if after is None or before is None else after - before


def _change_interval(one: Mapping[str, Any], name: str) -> Sequence[float] | None:
    found: Sequence[float] | None = one["intervals"].get(f"{name}_change")
    return found


def _slice_key(one: Mapping[str, Any]) -> Any:
    from tensorflow_model_analysis.proto import metrics_for_slice_pb2

    key = metrics_for_slice_pb2.SliceKey()
    if "by" in one:
        key.single_slice_keys.add(column=one["by"], bytes_value=one["slice"].encode())
    return key


def _validation(results: Mapping[str, Any]) -> Any:
    """Valid where the candidate is blessed; every failed check is a failure with its sentence."""
    from tensorflow_model_analysis.proto import config_pb2, validation_result_pb2

    result = validation_result_pb2.ValidationResult(validation_ok=results["blessed"])
    by_key = {f"{one['by']}={one['slice']}": one for one in results["slices"]}
    failed = [check for check in results["checks"] if check["status"] == "failed"]
    for key in dict.fromkeys(check["slice"] for check in failed):
        part = result.metric_validations_per_slice.add(slice_key=_slice_key(by_key.get(key, {})))
        part.failures.extend(_failure(check) for check in failed if check["slice"] == key)
    for values in ({}, *({one["by"]: one["slice"]} for one in by_key.values())):
        spec = config_pb2.SlicingSpec(feature_values=values)
        result.validation_details.slicing_details.add(slicing_spec=spec, num_matching_slices=1)
    return result


def _failure(check: Mapping[str, Any]) -> Any:
    from tensorflow_model_analysis.proto import metrics_for_slice_pb2, validation_result_pb2

    key = metrics_for_slice_pb2.MetricKey(name=_metric_of(check), model_name=CANDIDATE)
    failure = validation_result_pb2.ValidationFailure(metric_key=key, message=check["sentence"])
    if check["value"] is not None:
        failure.metric_value.double_value.value = check["value"]
    if check["limit"] is not None:
        bound = "lower_bound" if ".min_" in check["name"] else "upper_bound"
        getattr(failure.metric_threshold.value_threshold, bound).value = check["limit"]
    return failure


def _metric_of(check: Mapping[str, Any]) -> str:
    if check["name"] in ("gate.max_ratio", "gate.chance", "gate.slices"):
        return "perplexity_ratio"
    return "perplexity" if check["name"] in ("gate", "gate.max_fraction") else str(check["name"])


def _ratio_threshold(limit: float) -> Any:
    from tensorflow_model_analysis.proto import config_pb2

    threshold = config_pb2.MetricThreshold()
    threshold.change_threshold.relative.value = limit - 1
    threshold.change_threshold.direction = config_pb2.MetricDirection.LOWER_IS_BETTER
    return threshold


def _write(path: Path, messages: Iterable[Any]) -> None:
    import tensorflow as tf

    with tf.io.TFRecordWriter(str(path)) as writer:
        for message in messages:
            writer.write(message.SerializeToString(deterministic=True))
