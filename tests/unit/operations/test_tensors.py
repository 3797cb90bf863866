"""What lies between layers: plans as MIOpen makes them, results by definition."""

from __future__ import annotations

import numpy as np
import pytest
from operation_plays import play

from apuflow import operations
from apuflow.core.errors import ConfigError
from apuflow.operations.launching import worker_sizes


@pytest.mark.parametrize(
    ("operator", "expected"),
    [("add", np.add), ("mul", np.multiply), ("min", np.minimum), ("max", np.maximum)],
)
def test_elementwise(operator: str, expected: np.ufunc) -> None:
    done = play("elementwise", {"n": 2, "c": 3, "h": 4, "w": 5, "operator": operator})
    assert np.array_equal(done["c"], expected(done["a"], done["b"]))


@pytest.mark.parametrize(
    ("shape", "unit", "grid"),
    [
        ((2, 64, 7, 7), 4, 1792),
        ((1, 3, 5, 2), 2, 256),
        ((1, 3, 5, 5), 1, 256),
        ((64, 256, 56, 56), 4, 1 << 20),
    ],
)
def test_elementwise_reads_four_floats_where_it_can(
    shape: tuple[int, int, int, int], unit: int, grid: int
) -> None:
    """OpTensor4d: a group of 256 for 256 units, 4,096 groups at most."""
    n, c, h, w = shape
    [launch] = operations.make("elementwise", {"n": n, "c": c, "h": h, "w": w}).launches("fwd", 4)
    assert launch.grid == (grid, 1, 1)
    assert f"-DRD_BLCK={unit} " in (launch.arguments or "")


def test_what_miopen_takes_for_a_bias_is_refused() -> None:
    with pytest.raises(ConfigError, match="takes a tensor of 1xCx1x1 for a bias"):
        operations.make("elementwise", {"n": 1, "c": 64})


@pytest.mark.parametrize("n", [1, 3])
def test_concat_there_and_back(n: int) -> None:
    shape = {"n": n, "channels": "2,1,3", "h": 2, "w": 3}
    done = play("concat", shape)
    parts = [done[f"bottom{i}"].reshape(n, -1, 2, 3) for i in range(3)]
    joined = np.concatenate(parts, axis=1)
    assert np.array_equal(done["top"].reshape(joined.shape), joined)
    back = play("concat", shape, "bwd", {"top_diff": joined})
    for i, part in enumerate(parts):
        assert np.array_equal(back[f"bottom{i}_diff"].reshape(part.shape), part)


def test_a_first_input_that_lies_in_place_says_what_it_stands_in_for() -> None:
    """MIOpen calls hipMemcpy where both sides are packed and begin at 0."""
    notes = [
        launch.note
        for launch in operations.make("concat", {"n": 1, "channels": "4,4", "h": 2, "w": 2}).launches(
            "fwd", 4
        )
    ]
    assert "hipMemcpy" in notes[0] and not notes[1]


@pytest.mark.parametrize("channels", ["64", "64,", "a,b", "0,3"])
def test_channels_are_a_list(channels: str) -> None:
    with pytest.raises(ConfigError, match="write them as 64,128,32"):
        operations.make("concat", {"n": 1, "channels": channels, "h": 2, "w": 2})


@pytest.mark.parametrize(
    ("lengths", "sizes"),
    [((1000,), (1024,)), ((70000,), (65536,)), ((16, 50176), (1, 65536)), ((3, 100), (4, 128))],
)
def test_worker_sizes(lengths: tuple[int, ...], sizes: tuple[int, ...]) -> None:
    """By hand from get_worker_sizes: powers of two, cut from the first dimension on above 65,536."""
    assert worker_sizes(lengths) == sizes


def test_frozen_batch_normalisation() -> None:
    done = play("scale_shift", {"n": 2, "c": 3, "h": 2, "w": 2, "epsilon": 0.1})
    x = done["bottom"].reshape(2, 3, 2, 2).astype(np.float64)
    for c in range(3):
        one = (x[:, c] - done["mean"][c]) / np.sqrt(done["variance"][c] + 0.1)
        wanted = done["scale"][c] * one + done["bias"][c]
        assert done["top"].reshape(x.shape)[:, c] == pytest.approx(wanted, rel=1e-5)


def test_copy_fill_and_transpose() -> None:
    done = play("copy", {"elements": 1000})
    assert np.array_equal(done["target"], done["source"])
    assert (play("fill", {"elements": 77, "value": 1.5})["target"] == 1.5).all()
    done = play("transpose", {"n": 2, "c": 3, "h": 2, "w": 5})
    wanted = done["source"].reshape(2, 3, 10).swapaxes(0, 1).ravel()
    assert np.array_equal(done["target"], wanted)
