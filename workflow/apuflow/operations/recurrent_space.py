"""The keys of a recurrent layer, and its buffers as rows.

``reserve`` holds the rows of all time steps: gates, cell (LSTM), hidden state, and behind them what the gates
are after their functions. The backward pass keeps the gates' gradients in ``gradients``, in the same layout.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from typing_extensions import override

from apuflow.operations.key import choice, whole
from apuflow.operations.operation import Operation, Wrong, too_large
from apuflow.operations.strided import View

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
