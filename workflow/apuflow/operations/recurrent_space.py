"""A recurrent layer's keys, its buffers as rows, and MIOpen's kernels on rows with gaps between them.

``reserve`` holds the rows of all time steps: gates, cell (LSTM), hidden state, and behind them what the gates
are after their functions. The backward pass keeps the gates' gradients in ``gradients``, in the same layout.

Source: MIOpen rocm-4.0.1 ``src/ocl/tensorocl.cpp`` (``OpTensor3d``, ``CopyTensor``), ``activ_ocl.cpp``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from typing_extensions import override

from apuflow.miopen.launch import Arg, Gemm, Launch
from apuflow.miopen.rocm_4_0_1.activation import arguments as activation_arguments
from apuflow.miopen.rocm_4_0_1.common import FP32_ALL, floats, ints, read_unit
from apuflow.miopen.rocm_4_0_1.gemm import GROUP, product
from apuflow.operations.key import choice, whole
from apuflow.operations.launching import HIP_COPY, View, copy, reads, scalars
from apuflow.operations.operation import Operation, Pass, Wrong, too_large

MOST_GROUPS = 4096
ROWS_OF_A_GROUP = 64
GATES = {"relu": 1, "tanh": 1, "lstm": 4, "gru": 3}


@dataclass(frozen=True, kw_only=True)
class Space(Operation):
    """What a recurrent layer is made of."""

    cell: str = choice("which cell", None, tuple(GATES))
    hidden: int = whole("units")
    batch: int = whole("sequences")
    steps: int = whole("time steps")
    input: int = whole("elements of the input; 0: its products are left out (DeepBench's convention)", 0, 0)
    backward: str = choice("which gradients: of data, of weights", "both", ("both", "data", "weights"))

    @property
    def rows(self) -> int:
        """Rows of all time steps."""
        return self.batch * self.steps

    @property
    def gates(self) -> int:
        """Products of the hidden state per step: 1, 4 or 3."""
        return GATES[self.cell]

    @property
    def pitch(self) -> int:
        """Elements from row to row of ``reserve``."""
        return {"lstm": 6, "gru": 4}.get(self.cell, 1) * self.hidden

    @property
    def state(self) -> int:
        """Where a row's hidden state begins."""
        return {"lstm": 5 * self.hidden, "gru": 3 * self.hidden}.get(self.cell, self.rows * self.hidden)

    @property
    def reserved(self) -> int:
        """Elements of ``reserve``."""
        return self.active + self.rows * (self.hidden if self.cell == "lstm" else self.pitch)

    @property
    def step(self) -> int:
        """Elements of ``reserve`` from one time step to the next."""
        return self.batch * self.pitch

    @property
    def active(self) -> int:
        """Where the second half of ``reserve`` begins."""
        return self.rows * self.pitch

    @override
    def problems(self) -> Iterator[Wrong]:
        yield from too_large("steps", self.reserved)

    def reserve(self, time: int = 0, offset: int = 0, step: int = 0) -> View:
        """Rows of a time step; ``step``: 1, -1 where a loop goes on to the next, to the one before."""
        return self._of("reserve", self.reserved, time, offset, step)

    def gradients(self, time: int = 0, offset: int = 0, step: int = 0) -> View:
        """The same of the gradients."""
        return self._of("gradients", self.rows * self.pitch, time, offset, step)

    def plain(self, name: str, width: int, rows: int) -> View:
        """Packed rows."""
        return View(f"recurrent.{name}", width * rows, 0, width)

    def initial(self, name: str) -> View:
        """A state before the first step or after the last."""
        return self.plain(name, self.hidden, self.batch)

    def weights(self, name: str = "weights", gate: int = 0) -> View:
        """Of the hidden state, from a gate on: a row for each of its units."""
        return self.plain(name, self.hidden, self.gates * self.hidden).at(gate * self.hidden * self.hidden)

    def input_weights(self, name: str = "input_weights") -> View:
        """Of the input: a row for each unit of each gate."""
        return self.plain(name, self.input, self.gates * self.hidden)

    def _of(self, name: str, size: int, time: int, offset: int, step: int) -> View:
        return View(f"recurrent.{name}", size, time * self.step + offset, self.pitch, step * self.step)


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
        return copy(self.of, self.direction, source, target, lengths, HIP_COPY if in_place else "")

    def product(
        self, memory: tuple[View, View, View], shape: tuple[int, int, int], form: str, beta: float = 1.0
    ) -> Launch:
        """A product of rocBLAS, column major: ``memory`` is A, B, C with their pitches, ``form`` as "TN"."""
        a, b, c = memory
        m, n, k = shape
        offsets, steps = (a.offset, b.offset, c.offset), (a.step, b.step, c.step)
        sizes = m, n, k, form[0] == "T", form[1] == "T", 1, a.pitch, b.pitch, c.pitch
        gemm = Gemm(*sizes, 0, 0, 0, beta, *offsets, *steps)
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
