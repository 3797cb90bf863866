"""A recurrent layer forward (``RNNForwardTraining``)."""

from __future__ import annotations

from apuflow.miopen.launch import Arg, Launch
from apuflow.miopen.rocm_4_0_1.common import ints
from apuflow.operations.launching import Named, fill, scalars
from apuflow.operations.recurrent_space import Sizes, loop, update
from apuflow.operations.strided import Rows, View


def forward(layer: Named, s: Sizes, compute_units: int) -> tuple[Launch, ...]:
    """Cleared reserve, the input's product over all steps, each step, final states and the output."""
    rows, every = Rows(layer, "fwd", s.batch), Rows(layer, "fwd", s.rows)
    found = [fill(layer, "fwd", s.reserve().arg("out"))]
    if s.input:
        memory = s.input_weights(), s.plain("x", s.input, s.rows), s.reserve()
        found.append(every.product(memory, (s.gates * s.hidden, s.rows, s.input), "TN"))
    if s.cell == "gru":
        found += _apart(every, s)
    found += _step(rows, s, compute_units, first=True)
    found += loop(_step(rows, s, compute_units, first=False), s.steps - 1, 1)
    last = s.steps - 1
    found.append(rows.copy(s.reserve(last, s.state), s.initial("hy"), s.hidden))
    if s.cell == "lstm":
        found.append(rows.copy(s.reserve(last, 4 * s.hidden), s.initial("cy"), s.hidden))
    found.append(every.copy(s.reserve(0, s.state), s.plain("y", s.hidden, s.rows), s.hidden))
    return tuple(found)


def _apart(every: Rows, s: Sizes) -> list[Launch]:
    """The input's share of the candidate is kept in the hidden state's place; its own place is cleared."""
    candidate = s.reserve(0, 2 * s.hidden)
    return [
        every.copy(candidate, s.reserve(0, s.state), s.hidden),
        every.combine("add", candidate, candidate, candidate, s.hidden, factors=(0.0, 0.0)),
    ]


def _step(rows: Rows, s: Sizes, compute_units: int, *, first: bool) -> list[Launch]:
    """The launches of the first time step, or of the second as all others repeat it."""
    time, step = (0, 0) if first else (1, 1)
    before = s.initial("hx") if first else s.reserve(0, s.state, 1)
    here = s.reserve(time, 0, step)
    shape = (s.gates * s.hidden, s.batch, s.hidden)
    product = rows.product((s.weights(), before, here), shape, "TN")
    if s.cell == "lstm":
        return [product, _lstm(rows, s, compute_units, first)]
    if s.cell == "gru":
        return [product, *_gru(rows, s, here, before)]
    return [product, rows.activate(s.cell, here, here.at(s.active), s.hidden)]


def _lstm(rows: Rows, s: Sizes, compute_units: int, first: bool) -> Launch:
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
    return update(rows, s, "LSTMFwdHidUpdate", args, compute_units)


def _gru(rows: Rows, s: Sizes, here: View, before: View) -> list[Launch]:
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
