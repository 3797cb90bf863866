"""A launch as the kernel models read it: definitions, arguments, grid, workgroup."""

from __future__ import annotations

from math import prod
from typing import Final, NamedTuple

from apuflow.core.errors import NotModelled
from apuflow.core.gpus import GCN3, GPUS, VEGA, Isa
from apuflow.core.grid import wavefronts, workgroups
from apuflow.miopen import Launch
from apuflow.miopen.launch import definitions


class Facts(NamedTuple):
    """One launch as the kernel models see it.

    Attributes:
        kernel: function name.
        grid, workgroup: work-items along x, y and z.
        arguments: MIOpen's compile arguments.
        values: scalar kernel arguments by name.
        vega: compiled for gfx9, whose scalar ALU multiplies to 64 bits and whose vector ALU adds with shifts.
    """

    kernel: str
    grid: tuple[int, int, int]
    workgroup: tuple[int, int, int]
    arguments: str
    values: tuple[tuple[str, float], ...] = ()
    vega: bool = False

    @property
    def workgroups(self) -> int:
        """Workgroups of the grid."""
        return prod(workgroups(self.grid, self.workgroup))

    @property
    def waves_per_group(self) -> int:
        """Wavefronts of 64 lanes in a workgroup."""
        return -(-prod(self.workgroup) // 64)

    @property
    def wavefronts(self) -> int:
        """Of the grid; a partial workgroup has fewer."""
        return wavefronts(self.grid, self.workgroup)

    def define(self, name: str, default: int | None = None) -> int:
        """Integer value of a compile-time definition.

        Raises:
            NotModelled: it is not defined, and there is no default.
        """
        text = definitions(self.arguments).get(name)
        if text is None:
            if default is None:
                raise NotModelled("a compile argument is missing", key=name, value=self.arguments)
            return default
        return int(text)

    def number(self, name: str) -> float:
        """Value of a kernel argument.

        Raises:
            NotModelled: the kernel has no such argument.
        """
        for key, value in self.values:
            if key == name:
                return value
        raise NotModelled("a kernel argument is missing", key=name, value=self.kernel)

    def integer(self, name: str) -> int:
        """Value of an integer kernel argument."""
        return int(self.number(name))


VEGA_CODE: Final = {GCN3: False, VEGA: True}
"""Instruction sets whose code the kernels' models count: ``Facts.vega`` of each."""


def is_vega(isa: Isa, key: str | None = None, value: str | None = None) -> bool:
    """Whether kernels for an instruction set are compiled for gfx9; else for gfx8.

    Args:
        key, value: where it was given, for the error.

    Raises:
        NotModelled: the kernels' models do not count its instructions.
    """
    if isa not in VEGA_CODE:
        known = ", ".join(name for name, gpu in GPUS.items() if gpu.isa in VEGA_CODE)
        raise NotModelled(
            "the preview does not know the instructions of this GPU",
            key=key,
            value=value or isa.name,
            remedy=f"use {known}, or the gem5 or gem5-kernels engine",
        )
    return VEGA_CODE[isa]


def facts_of(launch: Launch, vega: bool) -> Facts:
    """The launch as the kernel models see it, compiled for gfx8 or (``vega``) for gfx9.

    Scalar arguments have their names; a matrix product has its dimensions for arguments.
    """
    values = [(arg.name, float(arg.value)) for arg in launch.args if not isinstance(arg.value, str)]
    if launch.gemm is not None:
        gemm = launch.gemm
        values += [("m", gemm.m), ("n", gemm.n), ("k", gemm.k), ("batch", gemm.batch)]
        values += [("transpose_a", float(gemm.transpose_a)), ("transpose_b", float(gemm.transpose_b))]
        values += [("lda", gemm.lda), ("ldb", gemm.ldb), ("beta", gemm.beta)]
        values += [("stride_a", gemm.stride_a), ("stride_b", gemm.stride_b), ("stride_c", gemm.stride_c)]
    return Facts(launch.kernel, launch.grid, launch.workgroup, launch.arguments or "", tuple(values), vega)
