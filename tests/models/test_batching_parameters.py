"""The file is one that TensorFlow Serving's own message takes."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, text_format, wrappers_pb2

from models.batching_parameters import BATCH_SIZES, BATCHING_PATH, write_batching_parameters

_FIELD = descriptor_pb2.FieldDescriptorProto


def batching_parameters() -> Any:
    """An empty `tensorflow.serving.BatchingParameters`, with the fields of session_bundle_config.proto."""
    file = descriptor_pb2.FileDescriptorProto(name="batching.proto", package="serving", syntax="proto3")
    file.dependency.append(wrappers_pb2.DESCRIPTOR.name)
    message = file.message_type.add(name="BatchingParameters")
    wrapped = {
        "max_batch_size": (1, "Int64Value"),
        "batch_timeout_micros": (2, "Int64Value"),
        "max_enqueued_batches": (3, "Int64Value"),
        "num_batch_threads": (4, "Int64Value"),
        "thread_pool_name": (5, "StringValue"),
    }
    for name, (number, kind) in wrapped.items():
        message.field.add(
            name=name,
            number=number,
            type=_FIELD.TYPE_MESSAGE,
            type_name=f".google.protobuf.{kind}",
            label=_FIELD.LABEL_OPTIONAL,
        )
    message.field.add(
        name="allowed_batch_sizes", number=6, type=_FIELD.TYPE_INT64, label=_FIELD.LABEL_REPEATED
    )
    message.field.add(
        name="pad_variable_length_inputs", number=7, type=_FIELD.TYPE_BOOL, label=_FIELD.LABEL_OPTIONAL
    )
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(wrappers_pb2.DESCRIPTOR.serialized_pb)
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("serving.BatchingParameters"))()


def test_a_server_can_read_it(tmp_path: Path):
    write_batching_parameters(tmp_path)
    found = text_format.Parse((tmp_path / BATCHING_PATH).read_text(), batching_parameters())
    sizes = list(found.allowed_batch_sizes)
    assert sizes == sorted(set(sizes)) == list(BATCH_SIZES)
    assert sizes[-1] == found.max_batch_size.value
    assert all(large * 2 <= small * 3 for small, large in itertools.pairwise(sizes[1:]))
    assert found.batch_timeout_micros.value > 0
    assert found.max_enqueued_batches.value > 0
    assert found.num_batch_threads.value > 0
    assert found.pad_variable_length_inputs


def test_its_reader_learns_what_batching_costs(tmp_path: Path):
    write_batching_parameters(tmp_path)
    text = " ".join((tmp_path / BATCHING_PATH).read_text().replace("\n#", "").split())
    assert "fails all of its batch" in text
    assert "`tokenize` cannot be called on such a server" in text
