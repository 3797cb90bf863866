"""The kernels of some products as rocBLAS itself loads them: a directory for ``ROCBLAS_TENSILE_LIBPATH``.

It holds a table of the kernel of each size, and a code object per kernel. Source: rocBLAS
rocm-4.0.0, ``tensile_host.cpp``: every file that matches ``*GPU*co`` is loaded, then ``TensileLibrary.dat``.
The table holds only the sizes nearest to the products: gem5 needs 40 minutes to read all.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from apuflow.core import paths
from apuflow.core.errors import ConfigError, EngineError
from apuflow.core.files import atomic_write
from apuflow.miopen.compiler import digest
from apuflow.miopen.launch import Gemm, Launch
from apuflow.miopen.objects import KernelObject
from apuflow.rocblas.objects import SOURCES, form, logic_file, run_tensile
from apuflow.rocblas.selection import nearest, select, transposes
from apuflow.rocblas.tables import solutions

TABLE: Final = "TensileLibrary.dat"

Size = tuple[str, int, int, int, int]
"""Transposes of A and B, m, n, k of a measured size, and its kernel's number."""


@dataclass(frozen=True)
class ProductLibrary:
    """rocBLAS' library directory.

    Attributes:
        sizes: of the table, sorted.
        gfx: GPU architecture.
        objects: of the kernels, and of the one that scales C for split sums.
    """

    sizes: tuple[Size, ...]
    gfx: str
    objects: tuple[KernelObject, ...]

    @property
    def table(self) -> str:
        """Path of the table, relative to the project's directory."""
        return paths.product_table(digest(SOURCES, json.dumps(self.sizes)))

    def files(self, root: Path) -> dict[str, Path]:
        """The directory's files by name."""
        kernels = {f"{item.name}-{self.gfx}.co": item.path(root) for item in self.objects}
        return {TABLE: root / self.table, **kernels}


def table_sizes(launches: Iterable[Launch], gfx: str) -> tuple[Size, ...]:
    """The measured sizes nearest to the products of some launches.

    Raises:
        ConfigError: rocBLAS has no such kernel for a product.
    """
    return tuple(sorted({_size(launch.gemm, launch.layer, gfx) for launch in launches if launch.gemm}))


def _size(gemm: Gemm, layer: str | None, gfx: str) -> Size:
    choice, row = select(gemm, gfx), nearest(gemm)
    if choice.solution is None or row is None:
        raise ConfigError(
            f"rocBLAS has no kernel that could be changed for gem5: {choice.reason}",
            key="image.rocblas_kernels",
            value=layer or f"{transposes(gemm)} {gemm.m}x{gemm.n}x{gemm.k}",
            remedy="leave image.rocblas_kernels out of configs/site.yaml, or this layer out of the sweep",
        )
    return (row.transposes, *row.key, row.solution)


def write_table(sizes: Sequence[Size], tensile: Path, rocblas: Path, out: Path, log: Path) -> None:
    """Write the table of some sizes by Tensile; it appears only if it reads back equal.

    Args:
        tensile, rocblas: checkouts at the pinned commits.
        log: gets Tensile's output.

    Raises:
        EngineError: a checkout lacks a file, or Tensile fails or writes something else.
    """
    order: dict[str, dict[str, Any]] = {}
    for problem, m, n, k, number in sizes:
        wanted = order.setdefault(str(logic_file(rocblas, problem)), {"kernels": {}, "sizes": []})
        solution = solutions()[problem, number]
        wanted["kernels"][str(number)] = [solution.kernel, form(solution)]
        wanted["sizes"].append([m, n, k])
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=".work-") as work:
        given, made = Path(work).resolve() / "order.json", Path(work).resolve() / TABLE
        given.write_text(json.dumps(order), encoding="utf-8")
        run_tensile(tensile, ["table", str(given), str(made)], made, log, what="rocBLAS' table of kernels")
        requested = [(m, n, k, solutions()[problem, number].kernel) for problem, m, n, k, number in sizes]
        if sorted(read_table(made)) != sorted(requested):
            raise EngineError(
                "Tensile's table differs from the request",
                file=log,
                remedy="Tensile and rocBLAS must be at rocm-4.0.0, unchanged",
            )
        with atomic_write(out) as part:
            part.write_bytes(made.read_bytes())


def read_table(file: Path) -> list[tuple[int, int, int, str]]:
    """Sizes (m, n, k) of a table with their kernels' names, for any GPU."""
    import msgpack

    content = msgpack.unpackb(file.read_bytes(), strict_map_key=False)
    names = {solution["index"]: solution["name"] for solution in content["solutions"]}
    return [
        (*entry["key"], names[entry["value"]["index"]])
        for gpu in content["library"]["rows"]
        for problem in gpu["library"]["map"].values()
        for row in problem["rows"]
        for entry in row["library"]["table"]
    ]
