"""The bytes of a model's constants, from HAL text."""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping
from math import prod
from typing import Final

from apuflow.kernels.hal import refused

_PART: Final = re.compile(r"dense<(\"0x[0-9A-Fa-f]*\"|[^<>]*)> : (?:tensor|vector)<((?:\d+x)*)(\w+)>")


def part(pattern: str, text: str) -> str:
    """The first group of a pattern; "" where it does not occur."""
    found = re.search(pattern, text, re.DOTALL)
    return found[1] if found else ""


def constant_data(body: str, name: str) -> bytes:
    """The bytes of a constant, from the initializer that stores it.

    Raises:
        ConfigError: it is not made of constants alone.
    """
    given = part(r"util\.buffer\.constant.*? = (.*?)(?:\n    %c|\n    %[a-z_0-9]+ = )", body)
    if not given or "hal.command_buffer.dispatch" in body:
        raise refused(f"global @{name}", "its contents are computed when it is loaded", "make it an argument")
    parts = (_bytes(text, sizes, kind, name) for text, sizes, kind in _PART.findall(given))
    data = b"".join(parts)
    if len(data) != int(part(r"#util\.composite<(\d+)xi8", given) or len(data) or -1):
        raise refused(f"global @{name}", "its contents are not all in the text", "make it an argument")
    return data


_PACKED: Final[Mapping[str, str]] = {"f16": "e", "f32": "f", "f64": "d"}


def _bytes(given: str, sizes: str, kind: str, name: str) -> bytes:
    """The bytes of one ``dense`` attribute: hexadecimal digits, or one element for all."""
    count = prod(int(size) for size in sizes.split("x") if size)
    if given.startswith('"0x'):
        return bytes.fromhex(given[3:-1])
    bits = int(re.sub(r"\D", "", kind) or 0)
    if given in ("true", "false"):
        element = bytes([given == "true"])
    elif bits % 8 or not bits or not re.fullmatch(r"[-+\w.]+", given):
        raise refused(
            f"a constant of type {kind} in @{name}",
            "how it lies in memory is not known",
            "make it an argument",
        )
    elif given.startswith("0x") or kind.startswith(("i", "si", "ui")):
        element = (int(given, 0) & (1 << bits) - 1).to_bytes(bits // 8, "little")
    elif kind == "bf16":
        element = struct.pack("<f", float(given))[2:]
    else:
        element = struct.pack(f"<{_PACKED[kind]}", float(given))
    return element * count
