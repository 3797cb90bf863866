"""What the program's side (``host/device.h``) and apuflow's say to each other, little-endian."""

from __future__ import annotations

import struct
from enum import IntEnum
from typing import Final

HEAD: Final = struct.Struct("<iIQ")
"""Kind of a request or status of its reply, 4 bytes of nothing, bytes that follow."""
PROPERTIES: Final = struct.Struct("<64sQ6I")
ALLOCATE: Final = struct.Struct("<QQ")
ADDRESS: Final = struct.Struct("<Q")
PLACE: Final = struct.Struct("<QQII")
MODULE: Final = struct.Struct("<I")
KERNEL: Final = struct.Struct("<10I")
PARAMETER: Final = struct.Struct("<4I")
MOST_PARAMETERS: Final = 256
LAUNCH: Final = struct.Struct("<8I3Q")
PIECE: Final = struct.Struct("<QQ")
MOST_PIECES: Final = 256
PROGRAM: Final = struct.Struct("<IIQQ")


class Request(IntEnum):
    """``enum request``."""

    HELLO = 0
    ALLOCATE = 1
    FREE = 2
    FIND = 3
    LOAD = 4
    KERNEL = 5
    VARIABLE = 6
    LAUNCH = 7
    REFUSE = 8
    PROGRAM = 9
    PLACED = 10
    OBSERVE = 11
    MISSING = 12
    SNAPSHOT = 13
    OBSERVED = 14


class Status(IntEnum):
    """``enum status``."""

    OK = 0
    INVALID = 1
    OUT_OF_MEMORY = 2
    NOT_FOUND = 3
    NO_BINARY = 4
    BAD_GEOMETRY = 5
