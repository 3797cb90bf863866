"""Code objects of rocBLAS' kernels: Tensile writes the assembly, clang assembles it, each kernel once.

The assembly is equal for all GPUs and assemblers; the object's name identifies kernel, GPU, assembler and
changes. DNNMark's own rocBLAS loads them from a directory (``ROCBLAS_TENSILE_LIBPATH``) with a table of the
kernel of each size and a code object per kernel. Source: rocBLAS rocm-4.0.0, ``tensile_host.cpp``: every file
that matches ``*GPU*co`` is loaded, then ``TensileLibrary.dat``. The table holds only the sizes nearest to the
products: gem5 needs 40 minutes to read all.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

from apuflow.core import paths
from apuflow.core.errors import ConfigError, EngineError
from apuflow.core.files import atomic_write
from apuflow.miopen.compiler import Compiler, Runner, compile_source, digest, run_on_host
from apuflow.miopen.elf import CodeObject
from apuflow.miopen.launch import Gemm, Launch, Row
from apuflow.miopen.objects import KernelObject
from apuflow.rocblas import changes, tensile_program
from apuflow.rocblas.call import ASSEMBLY
from apuflow.rocblas.tables import (
    LOGIC,
    ROCBLAS_COMMIT,
    TENSILE_COMMIT,
    Solution,
    nearest,
    select,
    solution_of,
    solutions,
    transposes,
)

LOGIC_DIRECTORY = "library/src/blas3/Tensile/Logic/asm_full"
SOURCES = f"rocblas {ROCBLAS_COMMIT}\ntensile {TENSILE_COMMIT}"
"""The sources of all kernels."""
TABLE: Final = "TensileLibrary.dat"

Size: TypeAlias = tuple[str, int, int, int, int]
"""Transposes of A and B, m, n, k of a measured size, and its kernel's number."""


def is_library_kernel(program: str) -> bool:
    """Whether a launch's program is one of rocBLAS' kernels."""
    return program.endswith(ASSEMBLY) and solution_of(program.removesuffix(ASSEMBLY)) is not None


def library_kernel(program: str) -> Solution:
    """The solution of a program.

    Raises:
        ConfigError: it is not a tuned kernel of rocBLAS.
    """
    solution = solution_of(program.removesuffix(ASSEMBLY))
    if solution is None:
        raise ConfigError("not a single precision kernel of rocBLAS for gfx803", key="program", value=program)
    return solution


def library_object(row: Row, gfx: str, assembler: str) -> KernelObject:
    """The object of a kernel for an assembler of this identity."""
    solution = library_kernel(row.program)
    made_from = (solution.kernel, gfx, assembler, SOURCES, changes.CHANGES_VERSION)
    return KernelObject(row, gfx, f"{solution.kernel}-{digest(*made_from)}")


def assembly_name(program: str) -> str:
    """File name, without extension, of a kernel's assembly."""
    solution = library_kernel(program)
    return f"{solution.kernel}-{digest(SOURCES, form(solution))}"


def write(program: str, tensile: Path, rocblas: Path, out: Path, log: Path) -> None:
    """Write a kernel's assembly by Tensile, as in rocBLAS.

    Args:
        tensile, rocblas: checkouts at the pinned commits.

    Raises:
        EngineError: a checkout lacks a file, or Tensile fails.
    """
    solution = library_kernel(program)
    logic = logic_file(rocblas, solution.transposes)
    with _work_beside(out) as work:
        text = work / "kernel.s"
        order = ["assembly", str(logic), str(solution.number), solution.kernel, form(solution), str(text)]
        run_tensile(tensile, order, text, log, what=solution.kernel)
        with atomic_write(out) as part:
            part.write_bytes(text.read_bytes())


@contextlib.contextmanager
def _work_beside(out: Path) -> Iterator[Path]:
    """A temporary directory next to a file."""
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=".work-") as work:
        yield Path(work).resolve()


def logic_file(rocblas: Path, transposes: str) -> Path:
    """rocBLAS' own table of a problem, in a checkout; EngineError if it is not there."""
    return _checked(rocblas / LOGIC_DIRECTORY / f"r9nano_{LOGIC[transposes]}.yaml", "rocblas_source")


def run_tensile(tensile: Path, order: Sequence[str], out: Path, log: Path, *, what: str) -> None:
    """Write ``out`` by Tensile, which works in its directory.

    Args:
        order: see ``tensile_program``.
        log: gets Tensile's output.
        what: name of ``out`` for messages.

    Raises:
        EngineError: the checkout lacks a file, or Tensile fails.
    """
    _checked(tensile / "Tensile/KernelWriterAssembly.py", "tensile_source")
    log.parent.mkdir(parents=True, exist_ok=True)
    program = str(Path(tensile_program.__file__).resolve())
    with log.open("ab") as messages:
        status = subprocess.run(
            [sys.executable, "-P", program, str(tensile.resolve()), *order],
            cwd=out.parent,
            stdin=subprocess.DEVNULL,
            stdout=messages,
            stderr=messages,
        ).returncode
    if status != 0 or not out.is_file():
        last = (log.read_text(errors="replace").strip().splitlines() or ["it says nothing"])[-1]
        raise EngineError(
            f"Tensile does not write {what}: exit status {status}\n  {last}",
            file=log,
            remedy="read the log; Tensile and rocBLAS must be at rocm-4.0.0, unchanged",
        )


def _checked(file: Path, key: str) -> Path:
    if file.is_file():
        return file.resolve()
    raise EngineError(
        "the checkout lacks a file",
        file=file,
        key=key,
        remedy="name a checkout at rocm-4.0.0, or leave the key out of configs/site.yaml",
    )


def assemble(
    row: Row, gfx: str, tool: Compiler, assembly: Path, out: Path, *, run: Runner = run_on_host
) -> CodeObject:
    """Change a kernel's assembly for gem5 and assemble it.

    Raises:
        EngineError: the text is not Tensile's, or the assembler fails.
    """
    solution = library_kernel(row.program)
    text = changes.apply(assembly.read_text(encoding="utf-8"), solution.splits, gfx)
    with _work_beside(out) as work:
        source = work / row.program
        source.write_text(text, encoding="utf-8")
        return compile_source(source, row, gfx, tool, out, run=run, expect=(solution.kernel,))


def assembly_path(program: str) -> str:
    """Where a kernel's assembly is kept, relative to the project's directory."""
    return paths.kernel_assembly(assembly_name(program))


def form(solution: Solution) -> str:
    """How a kernel writes C: by buffer stores, or flat if several workgroups add to it (see changes)."""
    return "flat" if solution.splits else "buffer"


# the directory of the image's rocBLAS
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

    Raises:
        EngineError: a checkout lacks a file, or Tensile fails or writes something else.
    """
    order: dict[str, dict[str, Any]] = {}
    for problem, m, n, k, number in sizes:
        wanted = order.setdefault(str(logic_file(rocblas, problem)), {"kernels": {}, "sizes": []})
        solution = solutions()[problem, number]
        wanted["kernels"][str(number)] = [solution.kernel, form(solution)]
        wanted["sizes"].append([m, n, k])
    with _work_beside(out) as work:
        given, made = work / "order.json", work / TABLE
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
