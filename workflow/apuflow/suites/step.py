"""What a suite asks for, item by item: one step is one row of its table in one phase of an iteration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias, get_args

Phase: TypeAlias = Literal["forward", "backward", "update"]
PHASES: Final[tuple[Phase, ...]] = get_args(Phase)
COMMUNICATION: Final = "communication"
"""The phase between backward and update on several devices: reckoned, no step."""
ALL_REDUCE: Final = "all_reduce"
"""``op`` of what a ring shares."""
OPERATION: Final = "operation"
"""The key of a step's shape that says by itself what runs, as ``Spec.text``."""
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
    """One row of a table in one phase.

    Attributes:
        item: number of the row, from 1.
        name: of the layer, or of the item.
        op: kind of layer as the table says it: conv, batchnorm, gemm ...
        shape: sizes by key, as ``operation.py`` reads them.
        repeats: how often one iteration runs it.
        flop: floating-point operations of all repeats by the suite's own rule; 0: the suite counts none.
        group: the set that the row belongs to, where the table has sets.
        why: why it is not run, though it is part of the table; empty: it is run if its operation is known.
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
    """What of a suite is run.

    Attributes:
        n: images (sequences) of an iteration; None: as the table or suite says.
        image: pixels of a side of the images of a network of layers; None: as the table says.
        direction: which passes.
        group: the set that is run; None: all.
        subset: how many items, those with the least work; None: all.
        op: the kind of layer or item that is run alone; None: all.
        algorithm: of convolutions: DNNMark's GEMM, or MIOpen's direct kernels where it has one.
        bias: whether layers of a network that have a bias run it, as frameworks do and DNNMark does not.
        devices: that share the gradients of all weights by a ring all-reduce; 1: nothing is shared.
        bandwidth: GB/s of a link of that ring, in one direction.
        latency: microseconds of a step of it, beside its bytes.
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


def asked(step: Step, choice: Choice) -> Step:
    """A step as it is asked for: a convolution says by which algorithm, if not by GEMM."""
    if choice.algorithm == "gemm" or step.op != "conv":
        return step
    return replace(step, shape={**step.shape, "algorithm": choice.algorithm})
