"""Recurrent layers: one layer, one direction of time, no bias, as MIOpen runs them with rocBLAS.

Initial states are given; gradients come from the output alone (no dhy, dcy). Backward goes from the last step
to the first for the data, then to the weights.

Source: MIOpen rocm-4.0.1 ``src/ocl/rnnocl.cpp`` (``RNNForwardTraining``, ``RNNBackwardData``,
``RNNBackwardWeights``), ``src/ocl/rnn_util_ocl.cpp``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from typing_extensions import override

from apuflow.miopen.launch import Arg, Launch
from apuflow.miopen.rocm_4_0_1.common import ints
from apuflow.miopen.rocm_4_0_1.gemm import GROUP
from apuflow.operations.launching import View, fill, reads, scalars
from apuflow.operations.operation import Pass
from apuflow.operations.recurrent_space import Rows, Space

WAVE_ITEMS = 64 * 32
"""Work-items of a compute unit that MIOpen counts on (``max_active_threads``)."""


@dataclass(frozen=True, kw_only=True)
class Recurrent(Space):
    """A recurrent layer over all time steps."""

    kind: ClassVar[str] = "recurrent"
    title: ClassVar[str] = "vanilla (ReLU, tanh), LSTM or GRU layer over all its time steps"
    source: ClassVar[str] = "rocBLAS' sgemm per step, MIOpen's activation, tensor and LSTM kernels"

    @override
    def macs(self, direction: Pass) -> int:
        """Of the products: DeepBench's rule, gates x hidden x hidden per sequence and step."""
        one = self.gates * self.hidden * (self.hidden + self.input) * self.rows
        return one if direction == "fwd" or self.backward != "both" else 2 * one

    @override
    def one_pass(self, direction: Pass, compute_units: int) -> tuple[Launch, ...]:
        if direction == "fwd":
            return tuple(_forward(self, compute_units))
        data = _data(self, compute_units) if self.backward != "weights" else []
        return (*data, *(_weights(self) if self.backward != "data" else ()))


def _loop(launches: Sequence[Launch], count: int, number: int) -> list[Launch]:
    """The launches of one time step, for so many of them."""
    return [replace(launch, count=count, loop=number) for launch in launches] if count else []


def _update(rows: Rows, s: Space, kernel: str, args: tuple[Arg, ...], compute_units: int) -> Launch:
    """MIOpen's LSTM update: a work-item takes 1 element, more where the compute units have enough of them."""
    most, work = compute_units * WAVE_ITEMS, s.batch * s.hidden
    unit = 1
    if work >= 4 * most and s.hidden % 4 == 0:
        unit = 4
    elif work >= 2 * most and s.hidden % 2 == 0:
        unit = 2
    items = max(1, work // unit)
    group = 64 if items <= 64 else 128 if items <= 128 else GROUP
    grid = (-(-min(items, most) // group) * group, 1, 1)
    arguments = f" -DLSTM_{rows.direction.upper()}_HID=1{reads(unit)} -DMIOPEN_USE_FP32=1"
    program = "MIOpenRNNHiddenStateUpdate.cl"
    return s.launch(rows.direction, program, arguments, kernel, grid, group, args)


# forward -----------------------------------------------------------------------------------------------
def _forward(s: Space, compute_units: int) -> list[Launch]:
    """Cleared reserve, the input's product over all steps, each step, final states and the output."""
    rows, every = Rows(s, "fwd", s.batch), Rows(s, "fwd", s.rows)
    found = [fill(s, "fwd", s.reserve().arg("out"))]
    if s.input:
        memory = s.input_weights(), s.plain("x", s.input, s.rows), s.reserve()
        found.append(every.product(memory, (s.gates * s.hidden, s.rows, s.input), "TN"))
    if s.cell == "gru":  # the input's share of the candidate goes to the hidden state's place
        candidate = s.reserve(0, 2 * s.hidden)
        found.append(every.copy(candidate, s.reserve(0, s.state), s.hidden))
        cleared = (candidate, candidate, candidate)
        found.append(every.combine("add", *cleared, s.hidden, factors=(0.0, 0.0)))
    found += _step(rows, s, compute_units, first=True)
    found += _loop(_step(rows, s, compute_units, first=False), s.steps - 1, 1)
    last = s.steps - 1
    found.append(rows.copy(s.reserve(last, s.state), s.initial("hy"), s.hidden))
    if s.cell == "lstm":
        found.append(rows.copy(s.reserve(last, 4 * s.hidden), s.initial("cy"), s.hidden))
    found.append(every.copy(s.reserve(0, s.state), s.plain("y", s.hidden, s.rows), s.hidden))
    return found


def _step(rows: Rows, s: Space, compute_units: int, *, first: bool) -> list[Launch]:
    """The launches of the first time step, or of the second as all others repeat it."""
    time, step = (0, 0) if first else (1, 1)
    before = s.initial("hx") if first else s.reserve(0, s.state, 1)
    here = s.reserve(time, 0, step)
    shape = (s.gates * s.hidden, s.batch, s.hidden)
    product = rows.product((s.weights(), before, here), shape, "TN")
    if s.cell == "lstm":
        return [product, _lstm_forward(rows, s, compute_units, first)]
    if s.cell == "gru":
        return [product, *_gru_forward(rows, s, here, before)]
    return [product, rows.activate(s.cell, here, here.at(s.active), s.hidden)]


def _lstm_forward(rows: Rows, s: Space, compute_units: int, first: bool) -> Launch:
    time, step = (0, 0) if first else (1, s.step)
    at = time * s.step
    kept = s.active + time * s.batch * s.hidden
    names = ("i_offset", "f_offset", "o_offset", "c_offset", "cell_offset")
    args = (
        s.initial("cx").arg("in", "cx"),
        s.reserve().arg("inout", "reserve"),
        *ints(hidden=s.hidden, pitch=s.pitch),
        *scalars("long", cx_offset=0),
        *(Arg("long", at + i * s.hidden, name=name, step=step) for i, name in enumerate(names)),
        Arg("long", 0 if first else 4 * s.hidden, name="before_offset", step=step),
        Arg("long", kept, name="active_offset", step=s.batch * s.hidden if step else 0),
        Arg("long", at + s.state, name="hidden_offset", step=step),
        *scalars("char", use_cx=1, begin=int(first)),
        *ints(time_direction=0, batch=s.batch, use_batch=s.batch),
    )
    return _update(rows, s, "LSTMFwdHidUpdate", args, compute_units)


def _gru_forward(rows: Rows, s: Space, here: View, before: View) -> list[Launch]:
    """z and r, the candidate from r times the state's product, then ``h = c - z c + z h'``."""
    h, state, active = s.hidden, here.at(s.state), here.at(s.active)
    candidate = here.at(2 * h)
    return [
        rows.activate("sigmoid", here, active, 2 * h),
        rows.copy(candidate, state.at(s.active), h),
        rows.combine("mul", active.at(h), candidate, candidate, h),
        rows.combine("add", candidate, state, candidate, h),
        rows.activate("tanh", candidate, active.at(2 * h), h),
        rows.combine("mul", active, active.at(2 * h), state, h, factors=(-1.0, 1.0)),
        rows.combine("add", active.at(2 * h), state, state, h),
        rows.combine("mul", active, before, state, h, beta=1.0),
    ]


# backward ----------------------------------------------------------------------------------------------
def _slope(s: Space) -> int:
    """Where a row's gradient of the hidden state begins."""
    return s.state if s.cell in ("lstm", "gru") else 0


def _data(s: Space, compute_units: int) -> list[Launch]:
    """Gradients of the initial states and the input, and of the gates in between."""
    rows, every = Rows(s, "bwd", s.batch), Rows(s, "bwd", s.rows)
    states = ["dhx", "dcx"] if s.cell == "lstm" else ["dhx"]
    found = [fill(s, "bwd", s.gradients().arg("out"))]
    found += [fill(s, "bwd", s.initial(name).arg("out")) for name in states]
    found.append(every.copy(s.plain("dy", s.hidden, s.rows), s.gradients(0, _slope(s)), s.hidden))
    last = s.steps - 1
    found += _status(rows, s, compute_units, last, first=last == 0)
    if last:
        middle = [*_from_later(rows, s, last - 1), *_status(rows, s, compute_units, last - 1, first=False)]
        found += _loop(middle, last - 1, 2)
        found += [*_from_later(rows, s, 0), *_status(rows, s, compute_units, 0, first=True)]
    found += _initial(rows, s)
    if s.input:
        memory = s.input_weights(), s.gradients(), s.plain("dx", s.input, s.rows)
        found.append(every.product(memory, (s.input, s.rows, s.gates * s.hidden), "NN", beta=0.0))
    return found


def _from_later(rows: Rows, s: Space, time: int) -> list[Launch]:
    """What the step after ``time`` hands to its hidden state."""
    h, slope = s.hidden, _slope(s)
    here, later = s.gradients(time, 0, -1), s.gradients(time + 1, 0, -1)
    memory = s.weights(), later, here.at(slope)
    product = rows.product(memory, (h, s.batch, s.gates * h), "NN")
    if s.cell != "gru":
        return [product]
    kept, spare = s.reserve(time + 1, 0, -1), here.at(2 * h)
    return [
        rows.combine("mul", later.at(slope), kept.at(s.active), here.at(slope), h, beta=1.0),
        rows.copy(later.at(2 * h), spare, h),
        rows.copy(kept.at(slope + s.active), later.at(2 * h), h),
        product,
        rows.copy(spare, later.at(2 * h), h),
    ]


def _status(rows: Rows, s: Space, compute_units: int, time: int, *, first: bool) -> list[Launch]:
    """The gradients of a step's gates. ``first``: it is the step of time 0."""
    here, kept = s.gradients(time, 0, -1), s.reserve(time, 0, -1)
    if s.cell == "lstm":
        return [_lstm_backward(rows, s, compute_units, time, first)]
    if s.cell == "gru":
        return _gru_backward(rows, s, time, first)
    return [rows.activate_back(s.cell, (here, here, kept, kept.at(s.active)), s.hidden)]


def _lstm_backward(rows: Rows, s: Space, compute_units: int, time: int, first: bool) -> Launch:
    at, h, end = time * s.step, s.hidden, time == s.steps - 1
    step, before = -s.step, 0 if first else at - s.step
    later = at + s.step if not end else 0

    def gates(prefix: str) -> tuple[Arg, ...]:
        return tuple(
            Arg("long", at + i * h, name=f"{prefix}{name}_offset", step=step) for i, name in enumerate("ifoc")
        )

    args = (
        s.initial("cx").arg("in", "cx"),
        s.initial("cx").arg("in", "dcy"),
        s.reserve().arg("in", "reserve"),
        s.gradients().arg("inout", "gradients"),
        *ints(hidden=h, pitch=s.pitch),
        *scalars("long", cx_offset=0, dcy_offset=0),
        *gates(""),
        Arg("long", s.active + time * s.batch * h, name="active_offset", step=-s.batch * h),
        Arg("long", before + 4 * h, name="before_offset", step=step),
        *gates("d"),
        Arg("long", at + 4 * h, name="dcell_offset", step=step),
        Arg("long", later + 4 * h, name="dcell_later_offset", step=step),
        Arg("long", at + s.state, name="dhidden_offset", step=step),
        Arg("long", later + h, name="f_later_offset", step=step),
        *scalars("char", use_cx=1, use_dcy=0, begin=int(first), end=int(end)),
        *ints(time_direction=0, batch=s.batch, use_batch=s.batch, use_batch2=s.batch),
    )
    return _update(rows, s, "LSTMBwdHidUpdate", args, compute_units)


def _gru_backward(rows: Rows, s: Space, time: int, first: bool) -> list[Launch]:
    h = s.hidden
    here, kept = s.gradients(time, 0, -1), s.reserve(time, 0, -1)
    dh, active = here.at(s.state), kept.at(s.active)
    candidate, product = here.at(2 * h), kept.at(s.state + s.active)
    before = s.initial("hx") if first else s.reserve(time - 1, s.state, -1)
    return [
        rows.combine("mul", dh, active, candidate, h, factors=(1.0, -1.0)),
        rows.combine("add", dh, candidate, candidate, h),
        rows.activate_back("tanh", (candidate, candidate, kept.at(2 * h), active.at(2 * h)), h),
        rows.combine("mul", candidate, product, here.at(h), h),
        rows.combine("mul", candidate, active.at(h), product, h),
        rows.combine("mul", before, dh, here, h),
        rows.combine("mul", active.at(2 * h), dh, here, h, factors=(-1.0, 1.0), beta=1.0),
        rows.activate_back("sigmoid", (here, here, kept, active), 2 * h),
    ]


def _initial(rows: Rows, s: Space) -> list[Launch]:
    """Gradients of the states before the first step."""
    h, dhx = s.hidden, s.initial("dhx")
    here, kept = s.gradients(0), s.reserve(0)
    if s.cell == "gru":
        product = kept.at(s.state + s.active)
        return [
            rows.combine("mul", here.at(2 * h), kept.at(h + s.active), product, h),
            rows.product((s.weights(gate=2), product, dhx), (h, s.batch, h), "NN", beta=0.0),
            rows.combine("mul", here.at(s.state), kept.at(s.active), dhx, h, beta=1.0),
            rows.product((s.weights(), here, dhx), (h, s.batch, 2 * h), "NN"),
        ]
    found = [rows.product((s.weights(), here, dhx), (h, s.batch, s.gates * h), "NN")]
    if s.cell == "lstm":
        found.append(rows.combine("mul", here.at(4 * h), kept.at(h), s.initial("dcx"), h, beta=1.0))
    return found


def _weights(s: Space) -> list[Launch]:
    every = Rows(s, "bwd", s.rows)
    gates, diff = s.gates * s.hidden, s.weights("weights_diff")
    found = [fill(s, "bwd", diff.arg("out"))]
    if s.input:
        inputs = s.input_weights("input_weights_diff")
        found.insert(0, fill(s, "bwd", inputs.arg("out")))
        memory = s.plain("x", s.input, s.rows), s.gradients(), inputs
        found.append(every.product(memory, (s.input, gates, s.rows), "NT"))
    if s.cell == "gru":
        found.append(every.copy(s.reserve(0, s.state + s.active), s.gradients(0, 2 * s.hidden), s.hidden))
    first = s.initial("hx"), s.gradients(), diff
    found.append(every.product(first, (s.hidden, gates, s.batch), "NT"))
    if s.steps > 1:
        memory = s.reserve(0, s.state), s.gradients(1), diff
        found.append(every.product(memory, (s.hidden, gates, s.rows - s.batch), "NT"))
    return found
