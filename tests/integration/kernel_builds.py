"""Kernel objects of a layer, compiled here."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from rocblas_checkouts import checkouts

from apuflow.engines.derived_kernels import kernel_objects
from apuflow.launcher.corrections import correcting
from apuflow.launcher.defects import DefectName
from apuflow.launcher.plan import source_directory
from apuflow.miopen import Launch, Row
from apuflow.miopen.compiler import assembler, host_compiler
from apuflow.miopen.objects import compile_object
from apuflow.rocblas.objects import assemble, is_library_kernel, write


def compiled(
    found: Iterable[Launch], gfx: str, kernels: Path, project: Path, *, defects: Collection[DefectName] = ()
) -> Mapping[Row, Path]:
    """The code object of every row that the launches need, below ``project``.

    Args:
        defects: what is changed for.
    """
    compiler = correcting(host_compiler(code_object=4), defects)
    objects = kernel_objects(found, gfx, compiler, kernels)
    paths = {row: item.path(project).resolve() for row, item in objects.items()}
    for row, path in paths.items():
        if path.exists():
            continue
        if is_library_kernel(row.program):
            text = path.with_suffix(".s")
            write(row.program, *checkouts(), text, path.with_suffix(".tensile.log"))
            assemble(row, gfx, assembler(compiler), text, path)
        else:
            compile_object(row, gfx, compiler, source_directory(row.program, kernels), path)
    return paths
