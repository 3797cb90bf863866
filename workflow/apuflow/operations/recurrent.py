"""Recurrent layers: one layer, one direction of time, no bias, as MIOpen runs them with rocBLAS.

``reserve`` holds the rows of all time steps: gates, cell (LSTM), hidden state, and behind them what the gates
are after their functions. The backward pass keeps the gates' gradients in ``gradients``, in the same layout.
Initial states are given; gradients come from the output alone (no dhy, dcy).

Source: MIOpen rocm-4.0.1 ``src/ocl/rnnocl.cpp`` (``RNNForwardTraining``, ``RNNBackwardData``,
``RNNBackwardWeights``), ``src/ocl/rnn_util_ocl.cpp``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from typing_extensions import override

from apuflow.miopen.launch import Launch
from apuflow.operations.key import choice, whole
from apuflow.operations.operation import Operation, Pass
from apuflow.operations.recurrent_backward import of_data, of_weights
from apuflow.operations.recurrent_forward import forward
from apuflow.operations.recurrent_space import Sizes

INT_ELEMENTS = 2**31
GATES = {"relu": 1, "tanh": 1, "lstm": 4, "gru": 3}


@dataclass(frozen=True, kw_only=True)
class Recurrent(Operation):
    """A recurrent layer over all time steps."""

    kind: ClassVar[str] = "recurrent"
    title: ClassVar[str] = "vanilla (ReLU, tanh), LSTM or GRU layer over all its time steps"
    source: ClassVar[str] = "rocBLAS' sgemm per step, MIOpen's activation, tensor and LSTM kernels"

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
        plain = self.rows * self.pitch
        return plain + self.rows * self.hidden if self.cell == "lstm" else 2 * plain

    @override
    def problems(self) -> Iterator[tuple[str, str, str]]:
        if self.reserved >= INT_ELEMENTS:
            yield "steps", f"{self.reserved} elements are kept: MIOpen counts in a C int", "make it smaller"

    @override
    def macs(self, direction: Pass) -> int:
        """Of the products: DeepBench's rule, gates x hidden x hidden per sequence and step."""
        one = self.gates * self.hidden * (self.hidden + self.input) * self.rows
        return one if direction == "fwd" or self.backward != "both" else 2 * one

    @override
    def one_pass(self, direction: Pass, compute_units: int) -> tuple[Launch, ...]:
        sizes = Sizes(
            self.cell,
            self.hidden,
            self.batch,
            self.steps,
            self.input,
            self.gates,
            self.pitch,
            self.state,
            self.reserved,
        )
        if direction == "fwd":
            return forward(self, sizes, compute_units)
        data = of_data(self, sizes, compute_units) if self.backward != "weights" else ()
        return data + (of_weights(self, sizes) if self.backward != "data" else ())
