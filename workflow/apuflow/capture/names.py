"""Names and types of a kernel's arguments from its C++ name, where its metadata has none (HIP)."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from apuflow.kernels.metadata import Kernel

_LIBRARY: Final = "libstdc++.so.6"
_TYPES: Final[Mapping[str, str]] = {
    **{name: name for name in ("char", "short", "int", "long", "float", "double")},
    **{"signed char": "char", "unsigned char": "uchar", "unsigned short": "ushort", "bool": "uchar"},
    **{"unsigned int": "uint", "unsigned long": "ulong", "long long": "long", "unsigned long long": "ulong"},
    **{"_Float16": "half", "__half": "half"},
}
"""OpenCL's names of C++'s types."""


def demangled(name: str) -> str:
    """A C++ name as the source has it, with its parameters' types; itself where nothing can tell."""
    try:
        function = ctypes.CDLL(_LIBRARY).__cxa_demangle
        free = ctypes.CDLL(None).free
    except (OSError, AttributeError):
        return name
    function.restype = ctypes.c_void_p
    free.argtypes = [ctypes.c_void_p]
    status = ctypes.c_int()
    found = function(name.encode(), None, None, ctypes.byref(status))
    if not found:
        return name
    text = ctypes.string_at(found).decode()
    free(found)
    return text


def described(kernel: Kernel) -> Kernel:
    """A kernel whose arguments have the types of its C++ name, and names without clang's endings."""
    types = _parameters(demangled(kernel.name))
    if len(types) != len(kernel.given):
        types = [""] * len(kernel.given)
    by_place = {each.offset: text for each, text in zip(kernel.given, types, strict=True)}
    return replace(
        kernel,
        parameters=tuple(
            replace(
                each,
                name=each.name.removesuffix(".coerce"),
                type_name=each.type_name or _type(by_place.get(each.offset, "")),
            )
            for each in kernel.parameters
        ),
    )


def _parameters(text: str) -> list[str]:
    """Types of a function's parameters, in order."""
    if not text.endswith(")"):
        return []
    depth, end, found = 0, len(text) - 1, list[str]()
    for place in range(end, -1, -1):
        depth += (text[place] in ")>") - (text[place] in "(<")
        if depth == 0 or (depth == 1 and text[place] == ","):
            found.insert(0, text[place + 1 : end].strip())
            end = place
        if depth == 0:
            break
    return [] if found == [""] else found


def _type(text: str) -> str:
    """``float*`` of ``float const*``, ``float`` of ``float``; "": a type that buffers do not have."""
    pointer = text.endswith("*") or text.endswith("* __restrict") or text.endswith("*__restrict")
    base = re.sub(r"\b(const|volatile|__restrict)\b|\*", " ", text)
    if text.count("*") > 1:
        return ""
    found = _TYPES.get(" ".join(base.split()), "")
    return f"{found}*" if pointer and found else found
