"""Recurrent layers: each cell by its definition, its gradients by differences of the forward pass."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from operation_plays import Array, play

from apuflow import operations
from apuflow.miopen import expand

CELLS = ("relu", "tanh", "lstm", "gru")
GATES = {"relu": 1, "tanh": 1, "lstm": 4, "gru": 3}
HIDDEN, BATCH, STEPS, INPUT = 3, 2, 4, 5


def shape(cell: str, **changed: Any) -> dict[str, Any]:
    return {"cell": cell, "hidden": HIDDEN, "batch": BATCH, "steps": STEPS, "input": INPUT, **changed}


def logistic(x: Array) -> Array:
    values: Array = 1 / (1 + np.exp(-x))
    return values


def run(cell: str, given: dict[str, Array]) -> tuple[Array, Array, Array]:
    """All outputs, last hidden and cell state, by the cells' equations; steps, then sequences."""
    weights, h, c = given["weights"].T, given["hx"], given["cx"]
    found = []
    for x in given["x"].reshape(STEPS, BATCH, -1):
        into = x @ given["input_weights"].T if x.size else np.zeros((BATCH, weights.shape[1]))
        own = h @ weights
        if cell == "lstm":
            i, f, o, g = np.split(into + own, 4, axis=1)
            c = logistic(f) * c + logistic(i) * np.tanh(g)
            h = logistic(o) * np.tanh(c)
        elif cell == "gru":
            z, r, own_g = np.split(own, 3, axis=1)
            into_z, into_r, into_g = np.split(into, 3, axis=1)
            z, r = logistic(z + into_z), logistic(r + into_r)
            h = (1 - z) * np.tanh(into_g + r * own_g) + z * h
        else:
            h = np.maximum(into + own, 0) if cell == "relu" else np.tanh(into + own)
        found.append(h)
    return np.stack(found), h, c


def inputs(cell: str, width: int) -> dict[str, Array]:
    random = np.random.default_rng(7)
    gates = GATES[cell] * HIDDEN
    sizes = {
        "weights": (gates, HIDDEN),
        "input_weights": (gates, width),
        "hx": (BATCH, HIDDEN),
        "cx": (BATCH, HIDDEN),
        "x": (STEPS * BATCH, width),
    }
    return {name: random.uniform(-0.9, 1.0, size) for name, size in sizes.items()}


def used(given: dict[str, Array], cell: str) -> dict[str, Array]:
    return {
        name: values for name, values in given.items() if values.size and (name != "cx" or cell == "lstm")
    }


@pytest.mark.parametrize("width", [0, INPUT])
@pytest.mark.parametrize("cell", CELLS)
def test_forward(cell: str, width: int) -> None:
    given = inputs(cell, width)
    y, h, c = run(cell, given)
    done = play("recurrent", shape(cell, input=width), given=used(given, cell))
    assert done["y"].reshape(y.shape) == pytest.approx(y, rel=1e-4, abs=1e-6)
    assert done["hy"].reshape(h.shape) == pytest.approx(h, rel=1e-4, abs=1e-6)
    if cell == "lstm":
        assert done["cy"].reshape(c.shape) == pytest.approx(c, rel=1e-4, abs=1e-6)


@pytest.mark.parametrize("cell", CELLS)
def test_gradients_are_the_slopes_of_the_forward_pass(cell: str) -> None:
    given = inputs(cell, INPUT)
    done = play("recurrent", shape(cell), given=used(given, cell))
    dy = np.random.default_rng(8).random((STEPS, BATCH, HIDDEN))
    needed = {**used(given, cell), "dy": dy, "reserve": done["reserve"]}
    back = play("recurrent", shape(cell), "bwd", needed)
    names = {"x": "dx", "hx": "dhx", "weights": "weights_diff", "input_weights": "input_weights_diff"}
    if cell == "lstm":
        names["cx"] = "dcx"
    for name, gradient in names.items():
        slope = np.empty(given[name].size)
        for i in range(slope.size):
            sums = []
            for step in (1e-5, -1e-5):
                moved = given[name].copy()
                moved.flat[i] += step
                sums.append((dy * run(cell, {**given, name: moved})[0]).sum())
            slope[i] = (sums[0] - sums[1]) / 2e-5
        assert back[gradient] == pytest.approx(slope, rel=2e-4, abs=1e-5), name


@pytest.mark.parametrize("steps", [1, 2])
@pytest.mark.parametrize("cell", CELLS)
def test_one_and_two_steps(cell: str, steps: int) -> None:
    every = operations.make("recurrent", shape(cell, steps=steps)).launches("both", 4)
    assert sum(launch.gemm is not None for launch in expand(every)) > 3 * steps


def test_deepbenchs_lstm() -> None:
    """Hidden 512, batch 16, 25 steps: 2 * 4 * 512 * 512 * 16 * 25 operations, without the input's product."""
    sizes: dict[str, Any] = {"cell": "lstm", "hidden": 512, "batch": 16, "steps": 25}
    made = operations.make("recurrent", sizes)
    assert 2 * made.cost("fwd").macs == 838_860_800
    assert made.macs("bwd") == 2 * made.macs("fwd")
    launches = list(expand(made.launches("fwd", 4)))
    assert [launch.kernel for launch in launches].count("LSTMFwdHidUpdate") == 25
    assert sum(launch.gemm is not None for launch in launches) == 25
    products = [launch.gemm for launch in launches if launch.gemm is not None]
    assert {(one.m, one.n, one.k) for one in products} == {(2048, 16, 512)}
    assert [one.offset_c for one in products[:3]] == [0, 16 * 6 * 512, 2 * 16 * 6 * 512]
    weights = operations.make("recurrent", {**sizes, "backward": "weights"})
    merged = [launch.gemm.k for launch in weights.launches("bwd", 4) if launch.gemm is not None]
    assert merged == [16, 24 * 16]


@pytest.mark.parametrize(("units", "unit"), [(1, 4), (2, 2), (4, 1)])
def test_an_update_reads_more_at_once_where_compute_units_have_enough(units: int, unit: int) -> None:
    """8,192 elements are four times 2,048 work-items of one compute unit, twice those of two."""
    made = operations.make("recurrent", {"cell": "lstm", "hidden": 512, "batch": 16, "steps": 2})
    updates = [one for one in made.launches("fwd", units) if one.kernel == "LSTMFwdHidUpdate"]
    assert {f"-DRD_BLCK={unit} " in (one.arguments or "") for one in updates} == {True}
    assert updates[0].grid == (2048 * units, 1, 1)
