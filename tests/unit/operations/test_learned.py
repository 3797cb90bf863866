"""GELU, layer normalisation, embedding, momentum: values by hand, derivatives of the forward pass."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from operation_plays import Array, play

from apuflow import operations
from apuflow.core.errors import ConfigError
from apuflow.launcher.plan import guest_run, kernel_source
from apuflow.launcher.reference import expected_outputs
from apuflow.operations import own


def test_gelu_hand_values() -> None:
    """Of the form with the hyperbolic tangent: 0.841192 at 1, -0.158808 at -1."""
    done = play("gelu", {"elements": 4}, given={"bottom": np.array([0.0, 1.0, -1.0, 10.0])})
    assert done["top"] == pytest.approx([0, 0.841192, -0.158808, 10], abs=1e-6)


def test_gelu_backward_is_the_slope() -> None:
    x, dy = np.linspace(-3, 3, 12), np.linspace(1, 2, 12)

    def forward(at: Array) -> Array:
        values: Array = 0.5 * at * (1 + np.tanh(math.sqrt(2 / math.pi) * (at + 0.044715 * at**3)))
        return values

    slope = dy * (forward(x + 1e-5) - forward(x - 1e-5)) / 2e-5
    done = play("gelu", {"elements": 12}, "bwd", {"bottom": x, "top_diff": dy})
    assert done["bottom_diff"] == pytest.approx(slope, rel=1e-5, abs=1e-6)


def test_momentum_by_hand() -> None:
    """Velocity 0.5 * 2 + 3 + 0.1 * 10 = 5, weight 10 - 0.2 * 5 = 9."""
    shape = {"elements": 1, "rate": 0.2, "momentum": 0.5, "decay": 0.1}
    given = {"weights": np.array([10.0]), "velocity": np.array([2.0]), "gradient": np.array([3.0])}
    done = play("sgd", shape, given=given)
    assert (done["velocity"][0], done["weights"][0]) == (5, 9)


def norm(x: Array, gamma: Array, beta: Array, epsilon: float) -> Array:
    result = np.empty_like(x)
    for row in range(x.shape[0]):
        mean = sum(x[row]) / x.shape[1]
        variance = sum((value - mean) ** 2 for value in x[row]) / x.shape[1]
        result[row] = gamma * (x[row] - mean) / math.sqrt(variance + epsilon) + beta
    return result


def test_layer_norm_and_its_derivatives() -> None:
    rows, width, epsilon = 3, 5, 0.01
    shape = {"rows": rows, "width": width, "epsilon": epsilon}
    done = play("layernorm", shape)
    x, gamma, beta = (done[name].astype(np.float64) for name in ("bottom", "gamma", "beta"))
    x = x.reshape(rows, width)
    assert done["top"].reshape(rows, width) == pytest.approx(norm(x, gamma, beta, epsilon), rel=1e-5)
    dy = np.random.default_rng(3).random((rows, width))
    given = {
        "bottom": x,
        "gamma": gamma,
        "top_diff": dy,
        "mean": done["mean"],
        "inverse_deviation": done["inverse_deviation"],
    }
    back = play("layernorm", shape, "bwd", given)
    start = {"bottom_diff": x, "gamma_diff": gamma, "beta_diff": beta}
    for name, of in start.items():
        slope = np.empty(of.size)
        for i in range(of.size):
            sums = []
            for step in (1e-5, -1e-5):
                moved = of.copy()
                moved.flat[i] += step
                at = {**start, name: moved}
                y = norm(at["bottom_diff"], at["gamma_diff"], at["beta_diff"], epsilon)
                sums.append((dy * y).sum())
            slope[i] = (sums[0] - sums[1]) / 2e-5
        assert back[name] == pytest.approx(slope, rel=1e-4, abs=1e-6)


def test_embedding_and_the_gradient_of_its_table() -> None:
    """Row 2 is gathered twice: its gradient is the sum of two; rows that nobody gathers get none."""
    shape, index = {"rows": 4, "width": 3, "tokens": 3}, np.array([2, 0, 2], np.int32)
    done = play("embedding", shape, given={"index": index})
    table, top = done["table"].reshape(4, 3), done["top"].reshape(3, 3)
    assert np.array_equal(top, table[[2, 0, 2]])
    back = play("embedding", shape, "bwd", {"index": index})
    dy, diff = back["top_diff"].reshape(3, 3), back["table_diff"].reshape(4, 3)
    assert diff[2] == pytest.approx(dy[0] + dy[2])
    assert np.array_equal(diff[0], dy[1])
    assert not diff[[1, 3]].any()


def test_numbers_of_rows_are_filled_within_the_table(tmp_path: Path) -> None:
    found = operations.make("embedding", {"rows": 5, "width": 4, "tokens": 100}).launches("fwd", 4)
    objects = {kernel_source(launch): tmp_path / "k.o" for launch in found}
    planned = guest_run(found, device="gfx801", objects=objects)
    assert planned.contents.buffers[0].line() == "buffer b0 400 indices 0 5"
    memory = expected_outputs(planned)
    assert set(memory["embedding.index"].tolist()) == {0, 1, 2, 3, 4}


def test_upsample_repeats_pixels_and_adds_up_their_gradients() -> None:
    """Two channels of one row; of the gradients of the first one 1 to 8 by rows."""
    shape = {"n": 1, "c": 2, "h": 1, "w": 2}
    done = play("upsample", shape, given={"bottom": np.array([1.0, 2.0, 3.0, 4.0])})
    assert done["top"].tolist() == [1, 1, 2, 2, 1, 1, 2, 2, 3, 3, 4, 4, 3, 3, 4, 4]
    back = play("upsample", shape, "bwd", {"top_diff": np.array([*range(1, 9), *[0.5] * 8])})
    assert back["bottom_diff"].tolist() == [1 + 2 + 5 + 6, 3 + 4 + 7 + 8, 2, 2]


def test_upsample_takes_two_factors() -> None:
    with pytest.raises(ConfigError, match=r"factor(.|\n)*2 or 4"):
        operations.make("upsample", {"n": 1, "c": 1, "h": 1, "w": 1, "factor": 3})


@pytest.mark.parametrize("kind", ["layernorm", "gelu", "embedding", "sgd", "upsample"])
def test_our_own_kernels_are_labelled(kind: str) -> None:
    shapes = {
        "layernorm": {"rows": 2, "width": 8},
        "embedding": {"rows": 2, "width": 8, "tokens": 3},
        "upsample": {"n": 1, "c": 1, "h": 2, "w": 8},
    }
    [launch] = operations.make(kind, shapes.get(kind, {"elements": 8})).launches("fwd", 4)
    assert launch.note == own.NOTE
    assert launch.program in own.PROGRAMS
