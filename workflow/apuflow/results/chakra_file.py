"""Files of Chakra execution traces: messages of Protocol Buffers, each behind its length.

A file is a ``GlobalMetadata`` and one ``Node`` for each operation. Sources, all of MLCommons Chakra 1.0.0:
the numbers of fields, ``schema/protobuf/et_def.proto``; names and types of the attributes that simulators
read, ``src/feeder/et_feeder_node.cpp``; the length of a message, ``src/third_party/utils/protolib.py``.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias

Value: TypeAlias = bool | int | float | str
COMPUTE, COLLECTIVE = 4, 7
"""Types of nodes: ``COMP_NODE``, ``COMM_COLL_NODE``."""
ALL_REDUCE: Final = 0
"""Value of attribute ``comm_type``."""
VERSION: Final = "1.0.0"
"""Of the schema."""
_VARINT, _DOUBLE, _BYTES = 0, 1, 2
"""Wire types."""
_UNSIGNED: Final = frozenset({"tensor_size"})
"""Attributes that readers expect as ``uint64``; other whole numbers are ``int64``."""


@dataclass(frozen=True)
class Node:
    """An operation or a collective communication.

    Attributes:
        kind: ``COMPUTE`` or ``COLLECTIVE``.
        after: ids of the nodes that must end before it begins.
        start, duration: microseconds.
        attributes: by name; ``is_cpu_op`` (false) is added.
    """

    id: int
    name: str
    kind: int
    after: tuple[int, ...]
    start: int
    duration: int
    attributes: Mapping[str, Value] = field(default_factory=dict)

    def encoded(self) -> bytes:
        """The message without its length. Fields at their defaults are left out."""
        return b"".join(
            (
                _whole(1, self.id),
                _text(2, self.name),
                _whole(3, self.kind),
                _field(5, b"".join(map(_varint, self.after))) if self.after else b"",
                _whole(6, self.start),
                _whole(7, self.duration),
                *(_field(10, part) for part in _attributes({"is_cpu_op": False, **self.attributes})),
            )
        )


def trace(nodes: Iterable[Node], metadata: Mapping[str, Value] | None = None) -> bytes:
    """A whole file: the metadata's version and attributes, then the nodes."""
    about = _text(1, VERSION) + b"".join(_field(2, part) for part in _attributes(metadata or {}))
    return b"".join(_varint(len(one)) + one for one in (about, *(node.encoded() for node in nodes)))


def _attributes(values: Mapping[str, Value]) -> Iterable[bytes]:
    return (_text(1, name) + _value(name, value) for name, value in values.items())


def _value(name: str, value: Value) -> bytes:
    """The member of an attribute's ``oneof`` that has its type; it is there even at 0."""
    if isinstance(value, bool):
        return _key(27, _VARINT) + _varint(value)
    if isinstance(value, int):
        return _key(13 if name in _UNSIGNED else 9, _VARINT) + _varint(value)
    if isinstance(value, float):
        return _key(3, _DOUBLE) + struct.pack("<d", value)
    return _field(29, value.encode())


def _key(number: int, wire_type: int) -> bytes:
    return _varint(number << 3 | wire_type)


def _varint(value: int) -> bytes:
    """Seven bits to a byte, the lowest first; the eighth says that more follow. Negative: as 64 bits."""
    left, found = value & (1 << 64) - 1, bytearray()
    while left > 0x7F:
        found.append(left & 0x7F | 0x80)
        left >>= 7
    found.append(left)
    return bytes(found)


def _whole(number: int, value: int) -> bytes:
    return _key(number, _VARINT) + _varint(value) if value else b""


def _field(number: int, content: bytes) -> bytes:
    return _key(number, _BYTES) + _varint(len(content)) + content


def _text(number: int, text: str) -> bytes:
    return _field(number, text.encode()) if text else b""
