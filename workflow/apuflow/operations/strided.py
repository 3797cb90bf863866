"""MIOpen's kernels on rows with gaps between them, as its recurrent layers launch them.

Source: MIOpen rocm-4.0.1 ``src/ocl/tensorocl.cpp`` (``OpTensor3d``, ``CopyTensor``), ``activ_ocl.cpp``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from apuflow.miopen.launch import Arg, Gemm, Launch, Role
from apuflow.miopen.rocm_4_0_1.activation import arguments as activation_arguments
from apuflow.miopen.rocm_4_0_1.common import FP32_ALL, floats, ints, read_unit
from apuflow.miopen.rocm_4_0_1.gemm import GROUP, product
from apuflow.operations.launching import HIP_COPY, buffer, copy, reads, scalars
from apuflow.operations.operation import Operation, Pass

MOST_GROUPS = 4096
ROWS_OF_A_GROUP = 64


@dataclass(frozen=True)
class View:
    """Rows of a buffer.

    Attributes:
        name, size: of the buffer.
        offset: where the first row begins; pitch: elements from row to row.
        step: what ``offset`` grows by from one time step of a loop to the next.
    """

    name: str
    size: int
    offset: int = 0
    pitch: int = 0
    step: int = 0

    def at(self, elements: int) -> View:
        """The same rows, so many elements further on."""
        return replace(self, offset=self.offset + elements)

    def arg(self, role: Role, meaning: str = "") -> Arg:
        """The buffer as a kernel argument."""
        return buffer(self.name, self.size, role, meaning)

    def offset_arg(self, kind: Literal["int", "long"], name: str) -> Arg:
        """Where the rows begin, as a kernel argument."""
        return Arg(kind, self.offset, name=name, step=self.step)


@dataclass(frozen=True)
class Rows:
    """Launches on ``rows`` rows of an operation in one direction."""

    of: Operation
    direction: Pass
    rows: int

    def combine(
        self,
        operator: Literal["add", "mul"],
        a: View,
        b: View,
        c: View,
        width: int,
        *,
        factors: tuple[float, float] = (1.0, 1.0),
        beta: float = 0.0,
    ) -> Launch:
        """``c = operator(factors[0] a, factors[1] b) + beta c``: Op2dTensorLite."""
        unit = read_unit(width)
        work = width // unit
        groups = min(MOST_GROUPS, -(-work // GROUP))
        groups_down = min(MOST_GROUPS // groups, -(-self.rows // ROWS_OF_A_GROUP))
        args = (
            a.arg("in", "a"),
            *ints(a_pitch=a.pitch),
            b.arg("in", "b"),
            *ints(b_pitch=b.pitch),
            c.arg("inout", "c"),
            *ints(c_pitch=c.pitch),
            *floats(alpha0=factors[0], alpha1=factors[1], beta=beta),
            *(one.offset_arg("long", f"{name}_offset") for name, one in zip("abc", (a, b, c), strict=True)),
            *scalars("long", total_work=work, total_rows=self.rows),
            *ints(use_beta=int(beta != 0), use_bias=int(self.rows == 1)),
        )
        arguments = (
            f" -DMIOPEN_TYPE=float{FP32_ALL} -DMIOPEN_TENSOR_OP=miopen{operator.capitalize()}"
            f" -DUSE_2D_TENSOR_LITE{reads(unit)}"
        )
        grid, program = (groups * GROUP, groups_down * ROWS_OF_A_GROUP, 1), "MIOpenTensorKernels.cl"
        return self.of.launch(self.direction, program, arguments, "Op2dTensorLite", grid, GROUP, args)

    def activate(self, mode: str, x: View, y: View, width: int) -> Launch:
        """``y = f(x)``: MIOpenActiveFwdLite where rows follow each other, else MIOpenActiveFwd2DLite."""
        args = x.arg("in", "x"), y.arg("out", "y"), *_constants(mode)
        return self._activation(mode, "MIOpenActiveFwd", args, {"x": x, "y": y}, width)

    def activate_back(self, mode: str, views: tuple[View, View, View, View], width: int) -> Launch:
        """``dx = dy f'(x)`` with ``views`` dx, dy, x and y: MIOpenActiveBwdLite, MIOpenActiveBwd2DLite."""
        named = dict(zip(("dx", "dy", "x", "y"), views, strict=True))
        args = [view.arg("inout" if name == "dx" else "in", name) for name, view in named.items()]
        constants = *floats(diff_scale=0.0), *_constants(mode)
        return self._activation(mode, "MIOpenActiveBwd", (*args, *constants), named, width)

    def copy(self, source: View, target: View, width: int) -> Launch:
        """A copy of the rows, or of all at once where they follow each other on both sides."""
        whole = source.pitch == target.pitch == width
        lengths = (1, self.rows * width) if whole else (self.rows, width)
        in_place = whole and source.offset == target.offset == 0
        there = (source.arg("in"), source.offset, source.pitch)
        here = (target.arg("out"), target.offset, target.pitch)
        made = copy(self.of, self.direction, there, here, lengths, HIP_COPY if in_place else "")
        steps = {"source_offset": source.step, "target_offset": target.step}
        return replace(made, args=tuple(arg._replace(step=steps.get(arg.name, 0)) for arg in made.args))

    def product(
        self, memory: tuple[View, View, View], shape: tuple[int, int, int], form: str, beta: float = 1.0
    ) -> Launch:
        """A product of rocBLAS, column major: ``memory`` is A, B, C with their pitches, ``form`` as "TN"."""
        a, b, c = memory
        m, n, k = shape
        moved = {"offset_a": a.offset, "offset_b": b.offset, "offset_c": c.offset}
        moved |= {"step_a": a.step, "step_b": b.step, "step_c": c.step}
        transposed = form[0] == "T", form[1] == "T"
        gemm = Gemm(m, n, k, *transposed, 1, a.pitch, b.pitch, c.pitch, beta=beta, **moved)
        args = a.arg("in", "a"), b.arg("in", "b"), c.arg("inout" if beta else "out", "c")
        return product(self.of.kind, self.of.kind, self.direction, args, gemm)

    def _activation(
        self, mode: str, stem: str, args: tuple[Arg, ...], views: Mapping[str, View], width: int
    ) -> Launch:
        packed = all(view.pitch == width for view in views.values())
        elements = self.rows * width if packed else width
        grid = (elements // read_unit(elements), 1 if packed else self.rows, 1)
        args += tuple(view.offset_arg("long", f"{name}_offset") for name, view in views.items())
        if not packed:
            args += scalars("uint", **{f"{name}_pitch": view.pitch for name, view in views.items()})
        arguments = activation_arguments(elements, mode)
        kernel = f"{stem}{'' if packed else '2D'}Lite"
        return self.of.launch(self.direction, "MIOpenNeuron.cl", arguments, kernel, grid, GROUP, args)


def _constants(mode: str) -> tuple[Arg, ...]:
    """MIOpen's recurrent layers pass alpha, beta and gamma 1, but beta 0 where no tanh is."""
    return floats(gamma=1.0, beta=1.0 if mode == "tanh" else 0.0, alpha=1.0)
