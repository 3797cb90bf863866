"""Steps of a suite: a row of its table in one phase of an iteration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias, get_args

Phase: TypeAlias = Literal["forward", "backward", "update"]
PHASES: Final[tuple[Phase, ...]] = get_args(Phase)
COMMUNICATION: Final = "communication"
"""The phase between backward and update on several devices, computed by formula, not a step."""
ALL_REDUCE: Final = "all_reduce"
"""``op`` of a ring's all-reduce."""
OPERATION: Final = "operation"
"""The key of a step's shape that holds its whole ``Spec.text``."""
Algorithm: TypeAlias = Literal["gemm", "direct"]
ALGORITHMS: Final[tuple[Algorithm, ...]] = get_args(Algorithm)
Passes: TypeAlias = Literal["fwd", "bwd", "both"]
"""``both`` is an iteration of training: forward, backward, and the update of the weights."""
PASSES: Final[tuple[Passes, ...]] = get_args(Passes)
PHASES_OF: Final[Mapping[Passes, tuple[Phase, ...]]] = {
    "fwd": ("forward",),
    "bwd": ("backward",),
    "both": PHASES,
}


@dataclass(frozen=True)
class Step:
    """A row of a table in one phase.

    Attributes:
        item: number of the row, from 1.
        name: of the layer, or of the item.
        op: kind of layer in the table: conv, batchnorm, gemm ...
        shape: sizes by key.
        repeats: runs per iteration.
        flop: floating-point operations of all repeats by the suite's rule; 0: it counts none.
        group: the row's set, if the table has sets.
        why: why it is not run; empty: it is run if its operation is known.
    """

    item: int
    name: str
    op: str
    phase: Phase
    shape: Mapping[str, int | str]
    repeats: int = 1
    flop: int = 0
    group: str = ""
    why: str = ""


@dataclass(frozen=True)
class Choice:
    """The selected part of a suite.

    Attributes:
        n: images (sequences) of an iteration; None: the table's or suite's.
        image: side of a layer network's images in pixels; None: the table's.
        direction: the passes.
        group: the set to run; None: all.
        subset: number of items, those with the least work; None: all.
        op: the only kind of layer or item to run; None: all.
        algorithm: of convolutions: DNNMark's GEMM, or MIOpen's direct kernels where it has one.
        bias: whether layers with a bias run it, as in frameworks but not in DNNMark.
        devices: number of devices that share gradients by a ring all-reduce.
        bandwidth: GB/s of a link of that ring, in one direction.
        latency: microseconds of a step of that ring without its bytes.
    """

    n: int | None = None
    image: int | None = None
    direction: Passes = "both"
    group: str | None = None
    subset: int | None = None
    op: str | None = None
    algorithm: Algorithm = "gemm"
    bias: bool = False
    devices: int = 1
    bandwidth: float = 16.0
    latency: float = 1.0


def with_algorithm(step: Step, choice: Choice) -> Step:
    """The step with the algorithm of a convolution, if it is not GEMM."""
    if choice.algorithm == "gemm" or step.op != "conv":
        return step
    return replace(step, shape={**step.shape, "algorithm": choice.algorithm})
