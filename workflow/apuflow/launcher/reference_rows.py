"""NumPy's version of the kernels of recurrent layers, which work on rows with gaps between them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from apuflow.launcher.reference_call import Array, Call

_OPERATORS: Mapping[str, Callable[[Array, Array], Array]] = {"miopenAdd": np.add, "miopenMul": np.multiply}


def _places(offset: int, pitch: int, rows: int, width: int) -> Array:
    """Positions of rows' elements in their buffer."""
    return offset + np.arange(rows)[:, None] * pitch + np.arange(width)


def _read(call: Call, index: int, places: Array) -> Array:
    return call.memory[str(call.buffers[index].value)][places].astype(np.float64)


def _write(call: Call, index: int, places: Array, values: Array) -> None:
    call.memory[str(call.buffers[index].value)][places] = values.astype(np.float32)


def _rows(call: Call, names: str) -> list[Array]:
    """Places of the rows of an activation, packed or not."""
    width, rows, _ = call.launch.grid
    width *= call.define("MIOPEN_READ_UNIT")
    found = []
    for name in names.split():
        pitch = call[f"{name}_pitch"] if rows > 1 or f"{name}_pitch" in call.scalars else width
        found.append(_places(call[f"{name}_offset"], pitch, rows, width))
    return found


def activation(call: Call, function: Callable[[Call, Array], Array]) -> None:
    """``y = f(x)`` of rows."""
    x, y = _rows(call, "x y")
    _write(call, 1, y, function(call, _read(call, 0, x)))


def activation_back(call: Call, function: Callable[[Call, Array, Array, Array], Array]) -> None:
    """``dx = dy f'(x)`` of rows."""
    places = _rows(call, "dx dy x y")
    dy, x, y = (_read(call, index, places[index]) for index in (1, 2, 3))
    _write(call, 0, places[0], function(call, dy, x, y))


def _combine(call: Call) -> None:
    width, rows = call["total_work"] * call.define("RD_BLCK"), call["total_rows"]
    a, b, c = (_places(call[f"{name}_offset"], call[f"{name}_pitch"], rows, width) for name in "abc")
    left, right = call.number("alpha0") * _read(call, 0, a), call.number("alpha1") * _read(call, 1, b)
    kept = call.number("beta") * _read(call, 2, c) if call["use_beta"] else 0.0
    _write(call, 2, c, kept + _OPERATORS[call.defines["MIOPEN_TENSOR_OP"]](left, right))


def _logistic(x: Array) -> Array:
    values: Array = 1 / (1 + np.exp(-x))
    return values


def _lstm_places(call: Call, names: str) -> list[Array]:
    sizes = call["pitch"], call["batch"], call["hidden"]
    return [_places(call[f"{name}_offset"], *sizes) for name in names.split()]


def _packed(call: Call, offset: str) -> Array:
    """Consecutive rows of the state's length: initial states, the cell's tanh."""
    return _places(call[offset], call["hidden"], call["batch"], call["hidden"])


def _lstm(call: Call) -> None:
    """Gates, cell and hidden state of a step."""
    names = "i f o c cell before hidden"
    at = dict(zip(names.split(), _lstm_places(call, names), strict=True))
    i, f, o = (_logistic(_read(call, 1, at[name])) for name in "ifo")
    c = np.tanh(_read(call, 1, at["c"]))
    before = _read(call, 0, _packed(call, "cx_offset")) if call["begin"] else _read(call, 1, at["before"])
    cell = f * before + i * c
    results = {"i": i, "f": f, "o": o, "c": c, "cell": cell, "hidden": o * np.tanh(cell)}
    for name, values in results.items():
        _write(call, 1, at[name], values)
    _write(call, 1, _packed(call, "active_offset"), np.tanh(cell))


def _lstm_back(call: Call) -> None:
    """Gradients of a step's gates and cell from that of its hidden state."""
    names = "i f o c before f_later di df do dc dcell dcell_later dhidden"
    at = dict(zip(names.split(), _lstm_places(call, names), strict=True))
    i, f, o, c = (_read(call, 2, at[name]) for name in "ifoc")
    active, dh = _read(call, 2, _packed(call, "active_offset")), _read(call, 3, at["dhidden"])
    dcell = dh * o * (1 - active**2)
    if not call["end"]:
        dcell = dcell + _read(call, 3, at["dcell_later"]) * _read(call, 2, at["f_later"])
    before = _read(call, 0, _packed(call, "cx_offset")) if call["begin"] else _read(call, 2, at["before"])
    results = {
        "di": dcell * c * i * (1 - i),
        "df": dcell * before * f * (1 - f),
        "do": dh * active * o * (1 - o),
        "dc": dcell * i * (1 - c**2),
        "dcell": dcell,
    }
    for name, values in results.items():
        _write(call, 3, at[name], values)


KERNELS: Mapping[str, Callable[[Call], None]] = {
    "Op2dTensorLite": _combine,
    "LSTMFwdHidUpdate": _lstm,
    "LSTMBwdHidUpdate": _lstm_back,
}
"""By the kernel's name."""
