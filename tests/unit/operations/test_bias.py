"""A bias: added to every pixel of its channel; its gradient is the sum over them."""

from __future__ import annotations

import pytest
from operation_plays import play

from apuflow import operations


@pytest.mark.parametrize("shape", [(2, 3, 5, 4), (1, 7, 1, 1), (3, 2, 16, 16)])
def test_forward_and_gradient(shape: tuple[int, int, int, int]) -> None:
    keys = dict(zip("nchw", shape, strict=True))
    done = play("bias", keys)
    y, b = done["y before"].reshape(shape), done["b"]
    assert done["y"].reshape(shape) == pytest.approx(y + b.reshape(1, -1, 1, 1), rel=1e-6)
    back = play("bias", keys, "bwd")
    assert back["db"] == pytest.approx(back["dy"].reshape(shape).sum((0, 2, 3)), rel=1e-5)


@pytest.mark.parametrize(
    ("shape", "groups"), [((16, 64, 27, 27), 1024), ((4, 96, 5, 5), 96), ((2, 640, 13, 13), 640)]
)
def test_workgroups_are_miopens(shape: tuple[int, int, int, int], groups: int) -> None:
    """One for a channel of an image; of all images from 640 channels on, or up to 256 pixels together."""
    [launch] = operations.make("bias", dict(zip("nchw", shape, strict=True))).launches("fwd", 4)
    assert launch.grid == (groups * 256, 1, 1)
