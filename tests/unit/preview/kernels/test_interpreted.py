"""Instructions of kernels without recorded runs, against an interpreter of their machine code.

The numbers were made by interpreting what clang-15 -O3 compiles for gfx801, wavefront by wavefront, with
inputs uniform in (0, 1). Of kernels that runs of gem5 cover, interpreter and gem5 agree to the instruction.
"""

from __future__ import annotations

from typing import Any

import pytest
from launcher_layers import LRN, PER_ACTIVATION, SPATIAL, convolution, layer

from apuflow.dnnmark import Direction, parse
from apuflow.miopen import Launch, launches
from apuflow.preview.kernels.facts import facts_of
from apuflow.preview.kernels.registry import profile
from apuflow.preview.profile import Profile


def modelled(text: str, direction: Direction, kernel: str) -> tuple[Launch, Profile]:
    found = [one for one in launches(parse(text), direction, 4) if one.kernel == kernel]
    return found[0], profile(facts_of(found[0], vega=False))


EXACT = [
    ("Activation", (2, 3, 4, 4), {"activation_mode": "tanh"}, "fwd", "MIOpenActiveFwdLite", 127, 1512),
    ("Activation", (2, 3, 4, 4), {"activation_mode": "tanh"}, "bwd", "MIOpenActiveBwdLite", 56, 528),
    ("Activation", (1, 3, 5, 5), {"activation_mode": "sigmoid"}, "fwd", "MIOpenActiveFwdLite", 112, 2550),
    ("Activation", (2, 3, 4, 4), {"activation_mode": "sigmoid"}, "bwd", "MIOpenActiveBwdLite", 49, 600),
    ("LRN", (1, 8, 8, 8), LRN, "fwd", "MIOpenLRNAcrossChannels4", 664, 19232),
    ("LRN", (1, 16, 5, 7), LRN, "fwd", "MIOpenLRNAcrossChannels4", 794, 24185),
    ("LRN", (2, 16, 8, 16), LRN, "fwd", "MIOpenLRNAcrossChannels4", 3084, 179072),
    ("LRN", (1, 8, 8, 8), LRN, "bwd", "MIOpenLRNAcrossChannelsBwd1", 583, 31488),
    ("LRN", (1, 14, 5, 7), LRN, "bwd", "MIOpenLRNAcrossChannelsBwd1", 997, 30030),
    ("LRN", (2, 16, 8, 16), LRN, "bwd", "MIOpenLRNAcrossChannelsBwd1", 5356, 296960),
    (
        "BatchNorm",
        (2, 3, 8, 8),
        PER_ACTIVATION,
        "fwd",
        "MIOpenBatchNormFwdTrainPerActivation",
        804,
        20352,
    ),
    (
        "BatchNorm",
        (9, 16, 1, 1),
        PER_ACTIVATION,
        "fwd",
        "MIOpenBatchNormFwdTrainPerActivation",
        7504,
        80048,
    ),
    (
        "BatchNorm",
        (20, 8, 1, 1),
        PER_ACTIVATION,
        "fwd",
        "MIOpenBatchNormFwdTrainPerActivation",
        6080,
        63528,
    ),
    ("BatchNorm", (64, 2, 32, 32), SPATIAL, "bwd", "MIOpenBatchNormBwdSpatial", 76124, 3651664),
]


@pytest.mark.parametrize(
    ("kind", "shape", "keys", "direction", "kernel", "instructions", "lanes"),
    EXACT,
    ids=[f"{row[0]}-{row[3]}-{'x'.join(map(str, row[1]))}" for row in EXACT],
)
def test_instructions_equal_the_interpreted_kernel(
    kind: str,
    shape: tuple[int, int, int, int],
    keys: dict[str, Any],
    direction: Direction,
    kernel: str,
    instructions: int,
    lanes: int,
) -> None:
    _, found = modelled(layer(kind, shape, **keys), direction, kernel)
    assert found.counts.instructions == pytest.approx(instructions)
    assert found.counts.lanes == pytest.approx(lanes)


POOLING = [
    ("avg", (16, 16), 3, 0, 2, 2520),
    ("avg", (16, 32), 3, 1, 2, 5040),
]


@pytest.mark.parametrize(("mode", "plane", "kernel", "pad", "stride", "instructions"), POOLING)
def test_pooling_backward_is_within_five_percent(
    mode: str, plane: tuple[int, int], kernel: int, pad: int, stride: int, instructions: int
) -> None:
    text = layer("Pooling", (1, 2, *plane), pool_mode=mode, kernel_size=kernel, pad=pad, stride=stride)
    _, found = modelled(text, "bwd", "mloPoolingAveBwd")
    assert found.counts.instructions == pytest.approx(instructions, rel=0.05)


STAGES = [
    ((2, 3, 8, 8), "fwd", "MIOpenBatchNormFwdTrainSpatial", 1656),
    ((100, 2, 8, 8), "fwd", "MIOpenBatchNormFwdTrainSpatial", 4976),
    ((3, 2, 32, 32), "fwd", "MIOpenBatchNormFwdTrainSpatialMeanVariance", 5664),
    ((3, 2, 32, 32), "fwd", "MIOpenBatchNormFwdTrainSpatialFinalMeanVariance", 7448),
    ((64, 2, 32, 32), "fwd", "MIOpenBatchNormFwdTrainSpatialNorm", 31910),
    ((2, 3, 8, 8), "bwd", "MIOpenBatchNormBwdSpatial", 7785),
    ((100, 2, 8, 8), "bwd", "MIOpenBatchNormBwdSpatial", 10102),
]


@pytest.mark.parametrize(("shape", "direction", "kernel", "instructions"), STAGES)
def test_spatial_batch_norm_is_within_seven_percent(
    shape: tuple[int, int, int, int], direction: Direction, kernel: str, instructions: int
) -> None:
    _, found = modelled(layer("BatchNorm", shape, **SPATIAL), direction, kernel)
    assert found.counts.instructions == pytest.approx(instructions, rel=0.07)


@pytest.mark.parametrize(
    ("kernel", "instructions", "lines"),
    [("transpose_NCHW2CNHW", 736, 128), ("transpose_CNHW2NCHW_opt", 180, 64)],
)
def test_transposes_of_strided_convolutions(kernel: str, instructions: int, lines: int) -> None:
    _, found = modelled(convolution((2, 8, 16, 16), 8, kernel=1, pad=0, stride=2), "fwd", kernel)
    assert found.counts.instructions == pytest.approx(instructions, rel=0.15)
    assert sum(s.accesses for s in found.streams if s.kind == "load") == pytest.approx(lines, rel=0.15)
