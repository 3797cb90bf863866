"""The buffers of a recurrent layer as rows, and what its two directions have in common."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from apuflow.miopen.launch import Arg, Launch
from apuflow.miopen.rocm_4_0_1.gemm import GROUP
from apuflow.operations.launching import launch
from apuflow.operations.operation import Pass
from apuflow.operations.strided import Rows, View

WAVE_ITEMS = 64 * 32
"""Work-items of a compute unit that MIOpen counts on (``max_active_threads``)."""


@dataclass(frozen=True)
class Sizes:
    """What a recurrent layer is made of (``operations.recurrent.Recurrent``)."""

    cell: str
    hidden: int
    batch: int
    steps: int
    input: int
    gates: int
    pitch: int
    state: int
    reserved: int

    @property
    def rows(self) -> int:
        """Rows of all time steps."""
        return self.batch * self.steps

    @property
    def step(self) -> int:
        """Elements of ``reserve`` from one time step to the next."""
        return self.batch * self.pitch

    @property
    def active(self) -> int:
        """Where the second half of ``reserve`` begins."""
        return self.rows * self.pitch

    # buffers -------------------------------------------------------------------------------------------
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


def loop(launches: Sequence[Launch], count: int, number: int) -> tuple[Launch, ...]:
    """The launches of one time step, for so many of them."""
    return tuple(replace(launch, count=count, loop=number) for launch in launches) if count else ()


def update(rows: Rows, sizes: Sizes, kernel: str, args: tuple[Arg, ...], compute_units: int) -> Launch:
    """MIOpen's LSTM update: a work-item takes 1 element, more where the compute units have enough of them."""
    direction: Pass = rows.direction
    most, work = compute_units * WAVE_ITEMS, sizes.batch * sizes.hidden
    unit = 1
    if work >= 4 * most and sizes.hidden % 4 == 0:
        unit = 4
    elif work >= 2 * most and sizes.hidden % 2 == 0:
        unit = 2
    items = max(1, work // unit)
    group = 64 if items <= 64 else 128 if items <= 128 else GROUP
    grid = -(-min(items, most) // group) * group
    read = "float" if unit == 1 else f"float{unit}"
    which = "FWD" if direction == "fwd" else "BWD"
    arguments = f" -DLSTM_{which}_HID=1 -DRD_BLCK={unit} -DREAD_TYPE={read} -DMIOPEN_USE_FP32=1"
    program = "MIOpenRNNHiddenStateUpdate.cl"
    return launch(rows.of, direction, program, arguments, kernel, (grid, 1, 1), (group, 1, 1), args)
