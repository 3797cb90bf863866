"""A recurrent layer backward: gradients of the data, from the last step to the first, then of the weights.

Source: ``RNNBackwardData``, ``RNNBackwardWeights``.
"""

from __future__ import annotations

from apuflow.miopen.launch import Arg, Launch
from apuflow.miopen.rocm_4_0_1.common import ints
from apuflow.operations.launching import Named, fill, scalars
from apuflow.operations.recurrent_space import Sizes, loop, update
from apuflow.operations.strided import Rows


def of_data(layer: Named, s: Sizes, compute_units: int) -> tuple[Launch, ...]:
    """Gradients of the initial states and the input, and of the gates in between."""
    return tuple(_data(layer, s, compute_units))


def of_weights(layer: Named, s: Sizes) -> tuple[Launch, ...]:
    """Gradients of the weights, from those of the gates."""
    return tuple(_weights(layer, s))


def _slope(s: Sizes) -> int:
    """Where a row's gradient of the hidden state begins."""
    return s.state if s.cell in ("lstm", "gru") else 0


def _data(layer: Named, s: Sizes, compute_units: int) -> list[Launch]:
    rows, every = Rows(layer, "bwd", s.batch), Rows(layer, "bwd", s.rows)
    states = ["dhx", "dcx"] if s.cell == "lstm" else ["dhx"]
    found = [fill(layer, "bwd", s.gradients().arg("out"))]
    found += [fill(layer, "bwd", s.initial(name).arg("out")) for name in states]
    found.append(every.copy(s.plain("dy", s.hidden, s.rows), s.gradients(0, _slope(s)), s.hidden))
    last = s.steps - 1
    found += _status(rows, s, compute_units, last, first=last == 0)
    if last:
        middle = [*_from_later(rows, s, last - 1), *_status(rows, s, compute_units, last - 1, first=False)]
        found += loop(middle, last - 1, 2)
        found += [*_from_later(rows, s, 0), *_status(rows, s, compute_units, 0, first=True)]
    found += _initial(rows, s)
    if s.input:
        memory = s.input_weights(), s.gradients(), s.plain("dx", s.input, s.rows)
        found.append(every.product(memory, (s.input, s.rows, s.gates * s.hidden), "NN", beta=0.0))
    return found


def _from_later(rows: Rows, s: Sizes, time: int) -> list[Launch]:
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


def _status(rows: Rows, s: Sizes, compute_units: int, time: int, *, first: bool) -> list[Launch]:
    """The gradients of a step's gates. ``first``: it is the step of time 0."""
    here, kept = s.gradients(time, 0, -1), s.reserve(time, 0, -1)
    if s.cell == "lstm":
        return [_lstm(rows, s, compute_units, time, first)]
    if s.cell == "gru":
        return _gru(rows, s, time, first)
    return [rows.activate_back(s.cell, (here, here, kept, kept.at(s.active)), s.hidden)]


def _lstm(rows: Rows, s: Sizes, compute_units: int, time: int, first: bool) -> Launch:
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
    return update(rows, s, "LSTMBwdHidUpdate", args, compute_units)


def _gru(rows: Rows, s: Sizes, time: int, first: bool) -> list[Launch]:
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


def _initial(rows: Rows, s: Sizes) -> list[Launch]:
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


def _weights(layer: Named, s: Sizes) -> list[Launch]:
    every = Rows(layer, "bwd", s.rows)
    gates, diff = s.gates * s.hidden, s.weights("weights_diff")
    found = [fill(layer, "bwd", diff.arg("out"))]
    if s.input:
        inputs = s.input_weights("input_weights_diff")
        found.insert(0, fill(layer, "bwd", inputs.arg("out")))
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
