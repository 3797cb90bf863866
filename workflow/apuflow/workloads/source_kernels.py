"""``apuflow new workload --from kernel.cl``: a file to fill in for the kernels of an OpenCL or HIP source."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

from apuflow.configure.loading import check_new_name
from apuflow.core import paths
from apuflow.kernels.element_types import ELEMENT_TYPES
from apuflow.kernels.metadata import LDS_POINTER, Kernel, Parameter, read_kernels
from apuflow.kernels.sources import compiled_meanwhile
from apuflow.miopen.compiler import CompilerFailure
from apuflow.workloads.fill_in import SIZE, Draft, write_draft

_GPUS: Final = ("gfx801", "gfx90a")
"""Compiled for the first that the source compiles for: arguments are the same on all."""
_ELEMENTS: Final = "elements"
"""The parameter that says how large buffers and grids are."""
_TAKEN: Final = frozenset({_ELEMENTS, "compute_units", "gfx"})
_REAL: Final = ("float", "double", "half")
_WIDEST: Final = 8
"""Bytes of the widest number; what is wider is a structure or a vector."""


def import_source(path: Path, name: str, root: Path, *, force: bool = False) -> tuple[tuple[Path, ...], str]:
    """Write the workload of an OpenCL or HIP source: a launch for each of its kernels.

    Arguments have the names and types that the compiler wrote down; of HIP it writes down only which are
    pointers.

    Returns:
        The files, and the GPU that the source compiles for.

    Raises:
        ConfigError: the name cannot be used, or the source includes a file above its directory.
        EngineError: the compiler is missing or fails, or the file has no kernel.
    """
    check_new_name(name, "workload", root / paths.workload_file(name), force=force)
    kernels, gfx = _compiled(path)
    return write_draft(draft_of(kernels, f"{name}/{path.name}"), path, name, root), gfx


def _compiled(path: Path) -> tuple[tuple[Kernel, ...], str]:
    failures = []
    for gfx in _GPUS:
        try:
            with compiled_meanwhile(path, "", gfx) as code:
                return read_kernels(code), gfx
        except CompilerFailure as error:
            failures.append(error)
    raise failures[0]


def draft_of(kernels: Sequence[Kernel], source: str) -> Draft:
    """The workload of kernels as their metadata describes them."""
    names = _Names()
    launches = [_launch(kernel, names) for kernel in kernels]
    parameters = {_ELEMENTS: SIZE * SIZE, **dict.fromkeys(names.numbers, SIZE)}
    content = {
        "description": f"Kernels of {Path(source).name}",
        **{"kind": "kernels", "source": source, "parameters": parameters},
        **{"buffers": names.buffers, "launches": launches},
    }
    return Draft(content, names.written, "numbers, grids and workgroups", "docs/own-kernels.md")


class _Names:
    """Buffers and parameters; kernels that name an argument alike share it."""

    def __init__(self) -> None:
        self.buffers: dict[str, dict[str, str]] = {}
        self.numbers: list[str] = []
        self.written: list[str] = []

    def buffer(self, given: Parameter, name: str) -> str:
        name = self._free(name, [*self.numbers, *_TAKEN])
        kind = _element(given)
        contents = "uniform" if kind in _REAL else "zero"
        self.buffers.setdefault(name, {"type": kind, "elements": _ELEMENTS, "contents": contents})
        self.written += [name] if not given.constant and name not in self.written else []
        return name

    def number(self, name: str) -> str:
        name = self._free(name, [*self.buffers, *_TAKEN])
        self.numbers += [name] if name not in self.numbers else []
        return name

    def _free(self, name: str, taken: Iterable[str]) -> str:
        return self._free(f"{name}_", taken) if name in taken else name


def _launch(kernel: Kernel, names: _Names) -> dict[str, Any]:
    given = [_argument(each, each.name or f"argument_{k}", names) for k, each in enumerate(kernel.given)]
    workgroup = list(kernel.required_workgroup or (SIZE,))
    grid: list[str | int] = [_ELEMENTS, *workgroup[1:]]
    return {"kernel": _plain(kernel.name), "grid": grid, "workgroup": workgroup, "arguments": given}


def _argument(given: Parameter, name: str, names: _Names) -> str | float | dict[str, Any]:
    if given.kind == "global_buffer":
        return names.buffer(given, name)
    if given.kind == LDS_POINTER:
        return {"lds": SIZE * _WIDEST}
    if given.size > _WIDEST or given.kind != "by_value":
        return {"bytes": "00" * given.size}
    if given.type_name in _REAL:
        return {given.type_name: 1.0}
    return names.number(name)


def _element(given: Parameter) -> str:
    """The type of a pointer's elements: ``float4*`` has floats; one without a known type, too."""
    word = re.sub(r"\d+$", "", given.type_name.replace("*", " ").strip())
    return word if word in ELEMENT_TYPES else "float"


def _plain(name: str) -> str:
    """The name of a C++ function in its symbol, or the symbol."""
    if found := re.match(r"_Z(\d+)", name):
        return name[found.end() : found.end() + int(found[1])]
    return name
