"""Code objects in the bundles that clang makes of the code for several GPUs (``__CLANG_OFFLOAD_BUNDLE__``).

Source: Clang's document "Clang Offload Bundler".
"""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping
from typing import Final

from apuflow.core.errors import EngineError
from apuflow.core.gpus import GPUS
from apuflow.miopen import elf

_MAGIC: Final = b"__CLANG_OFFLOAD_BUNDLE__"
_COMPRESSED: Final = b"CCOB"
_ENTRY: Final = struct.Struct("<QQQ")
"""Offset and bytes of a code object, bytes of its name."""
_PAGE: Final = 4096
_TARGET: Final = re.compile(rb"hip(?:v4)?-amdgcn-amd-amdhsa-*(gfx[0-9a-f]+)")
_NAMES: Final = {each.elf_machine: each.name for each in GPUS.values()}


def targets(program: bytes) -> tuple[str, ...]:
    """GPUs that a program's file has bundled code for, in the order in which it names them."""
    return tuple(dict.fromkeys(name.decode() for name in _TARGET.findall(program)))


def code_objects(data: bytes) -> Mapping[str, bytes]:
    """Code objects by their GPU: those of a bundle, or a single one.

    Raises:
        EngineError: it is neither, or compressed.
    """
    if data.startswith(b"\x7fELF"):
        machine = elf.header(data).flags & 0xFF
        return {_NAMES.get(machine, f"machine {machine:#x}"): data}
    if data.startswith(_COMPRESSED):
        remedy = "build the program with --no-offload-compress"
        raise EngineError("the program's GPU code is compressed", value="CCOB", remedy=remedy)
    if not data.startswith(_MAGIC):
        raise EngineError("neither a code object nor a bundle of them", value=data[:8].hex(" "))
    try:
        return dict(_entries(data))
    except (struct.error, UnicodeDecodeError) as error:
        raise EngineError(f"a damaged bundle of code objects: {error}", value=f"{len(data)} bytes") from None


def bundled(objects: Mapping[str, bytes]) -> bytes:
    """Code objects of GPUs as one bundle, as clang's runtimes take it."""
    entries = {"host-x86_64-unknown-linux--": b""}
    entries |= {f"hipv4-amdgcn-amd-amdhsa--{gfx}": data for gfx, data in objects.items()}
    head = len(_MAGIC) + 8 + sum(_ENTRY.size + len(name) for name in entries)
    place, table, bodies = -(-head // _PAGE) * _PAGE, b"", b""
    for name, data in entries.items():
        table += _ENTRY.pack(place + len(bodies), len(data), len(name)) + name.encode()
        bodies += data.ljust(-(-len(data) // _PAGE) * _PAGE, b"\0")
    return (_MAGIC + struct.pack("<Q", len(entries)) + table).ljust(place, b"\0") + bodies


def _entries(data: bytes) -> list[tuple[str, bytes]]:
    (count,) = struct.unpack_from("<Q", data, len(_MAGIC))
    place, found = len(_MAGIC) + 8, []
    for _ in range(count):
        offset, size, length = _ENTRY.unpack_from(data, place)
        place += _ENTRY.size + length
        name = data[place - length : place].decode()
        if size and (gfx := re.search(r"gfx[0-9a-f]+", name)):
            found.append((gfx[0], data[offset : offset + size]))
    return found
