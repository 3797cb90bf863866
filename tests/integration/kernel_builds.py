"""Kernel objects of a layer, compiled here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from apuflow.engines.gem5_kernels import kernel_objects
from apuflow.launcher import gemm
from apuflow.miopen import Launch, Row
from apuflow.miopen.compiler import host_compiler
from apuflow.miopen.objects import compile_object


def compiled(found: Iterable[Launch], gfx: str, kernels: Path, project: Path) -> Mapping[Row, Path]:
    """The code object of every row that the launches need, below ``project``."""
    compiler = host_compiler(code_object=4)
    objects = kernel_objects(found, gfx, compiler, kernels)
    paths = {row: item.path(project).resolve() for row, item in objects.items()}
    for row, path in paths.items():
        if not path.exists():
            ours = row.program == gemm.PROGRAM.name
            compile_object(row, gfx, compiler, gemm.PROGRAM.parent if ours else kernels, path)
    return paths
