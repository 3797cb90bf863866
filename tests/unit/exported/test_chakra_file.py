"""The bytes of a Chakra trace, against files and numbers of others."""

from __future__ import annotations

import needs
import pytest

from apuflow.results.chakra_file import ALL_REDUCE, COLLECTIVE, COMPUTE, Node, Value, trace

ASTRA_SIM = (
    "4812 14 616c6c5f7265647563655f346e7075735f314d42 1807"
    " 520e 0a09 69735f6370755f6f70 d80100"
    " 520d 0a09 636f6d6d5f74797065 4800"
    " 520f 0a09 636f6d6d5f73697a65 48808040"
)
"""The node of ``all_reduce/4npus_1MB/all_reduce.0.et`` of ASTRA-sim 518bd51, behind its metadata."""


def test_a_node_is_written_as_astra_sims_own_example_is() -> None:
    told: dict[str, Value] = {"comm_type": ALL_REDUCE, "comm_size": 1 << 20}
    node = Node(0, "all_reduce_4npus_1MB", COLLECTIVE, (), 0, 0, told)
    metadata = bytes.fromhex("07 0a05") + b"1.0.0"
    assert trace([node]) == metadata + bytes.fromhex(ASTRA_SIM)


def test_protocol_buffers_reads_every_field() -> None:
    """By the fields' numbers and types in MLCommons' schema 1.0.0."""
    parts = ("descriptor_pb2", "descriptor_pool", "message_factory")
    modules = (pytest.importorskip(f"google.protobuf.{part}", reason=needs.NETWORKS.reason) for part in parts)
    descriptor_pb2, descriptor_pool, message_factory = modules
    field = descriptor_pb2.FieldDescriptorProto
    kinds = {"uint64": field.TYPE_UINT64, "int64": field.TYPE_INT64, "string": field.TYPE_STRING}
    kinds |= {"bool": field.TYPE_BOOL, "double": field.TYPE_DOUBLE, "Attribute": field.TYPE_MESSAGE}
    schema = descriptor_pb2.FileDescriptorProto(name="et.proto", package="et", syntax="proto3")
    for name, fields in {
        "Attribute": "1 name string, 3 real double, 9 whole int64, 13 size uint64, 27 flag bool, "
        "29 text string",
        "Metadata": "1 version string, 2 attr Attribute*",
        "Node": "1 id uint64, 2 name string, 3 type uint64, 5 deps uint64*, 6 start uint64, "
        "7 duration uint64, 10 attr Attribute*",
    }.items():
        message = schema.message_type.add(name=name)
        for number, called, kind in (text.split() for text in fields.split(", ")):
            made = message.field.add(name=called, number=int(number), type=kinds[kind.strip("*")])
            made.label = field.LABEL_REPEATED if kind.endswith("*") else field.LABEL_OPTIONAL
            if kind.startswith("Attribute"):
                made.type_name = ".et.Attribute"
    pool = descriptor_pool.DescriptorPool()
    pool.Add(schema)
    classes = message_factory.GetMessageClassesForFiles(["et.proto"], pool)
    told: dict[str, Value] = {"tensor_size": 5_000_000_000, "num_ops": 0, "op": "gemm", "microseconds": 2.5}
    data = trace([Node(300, "query" * 8, COMPUTE, (1, 299), 70_000, 128, told)], {"suite": "bert", "rank": 3})
    length, data = data[0], data[1:]
    metadata = classes["et.Metadata"].FromString(data[:length])
    assert [(each.name, each.text or each.whole) for each in metadata.attr] == [
        ("suite", "bert"),
        ("rank", 3),
    ]
    data = data[length:]
    assert data[0] & 0x7F | data[1] << 7 == len(data) - 2 > 127  # a length of two bytes
    node = classes["et.Node"].FromString(data[2:])
    assert (node.id, node.name, node.type, list(node.deps)) == (300, "query" * 8, COMPUTE, [1, 299])
    assert (node.start, node.duration) == (70_000, 128)
    found = {each.name: each for each in node.attr}
    assert list(found) == ["is_cpu_op", "tensor_size", "num_ops", "op", "microseconds"]
    assert not found["is_cpu_op"].flag
    assert found["tensor_size"].size == 5_000_000_000
    assert found["op"].text == "gemm"
    assert found["microseconds"].real == 2.5
