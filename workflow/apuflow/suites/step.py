"""Steps of a suite: a row of its table in one phase of an iteration; and the selected part of a suite."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final, Literal, TypeAlias, get_args

from apuflow.core.scalar import Scalar

Phase: TypeAlias = Literal["forward", "backward", "update"]
PHASES: Final[tuple[Phase, ...]] = get_args(Phase)
COMMUNICATION: Final = "communication"
"""The phase between backward and update on several devices, computed by formula, not a step."""
ALL_REDUCE: Final = "all_reduce"
"""``op`` of a ring's all-reduce."""
UPDATE: Final = "sgd"
"""``op`` of the update of a layer's weights."""
OPERATION: Final = "operation"
"""The key of a step's shape that holds its whole ``Spec.text``."""
Algorithm: TypeAlias = Literal["gemm", "direct"]
ALGORITHMS: Final[tuple[Algorithm, ...]] = get_args(Algorithm)
Attention: TypeAlias = Literal["fused", "parts"]
ATTENTIONS: Final[tuple[Attention, ...]] = get_args(Attention)
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
        op: kind of layer in the table: conv, batchnorm, gemm ...
        shape: the operation's keys (``apuflow.operations``), or the sizes from which ``spec_of`` makes them.
        repeats: runs per iteration.
        flop: floating-point operations of all repeats by the suite's rule; 0: it counts none.
        group: the row's set, if the table has sets.
        why: why it is not run; empty: it is run if its operation is known.
        workload: of kernels (``kind: kernels``), whose parameters are the shape; "": an operation.
    """

    item: int
    name: str
    op: str
    phase: Phase
    shape: Mapping[str, Scalar]
    repeats: int = 1
    flop: int = 0
    group: str = ""
    why: str = ""
    workload: str = ""


@dataclass(frozen=True)
class Choice:
    """The selected part of a suite.

    Attributes:
        n: images (sequences) of an iteration; None: the table's or suite's.
        image: side of a layer network's images in pixels; None: the table's.
        group: the set to run; None: all.
        subset: number of items, those with the least work; None: all.
        op: the only kind of layer or item to run; None: all.
        steps: names or patterns of the steps to run, those with ``-`` before them left out; "": all.
        algorithm: of convolutions: DNNMark's GEMM, or MIOpen's direct kernels where it has one.
        bias: whether layers with a bias run it, as in frameworks but not in DNNMark.
        devices: number of devices that share gradients by a ring all-reduce.
        bandwidth: GB/s of a link of that ring, in one direction.
        latency: microseconds of a step of that ring without its bytes.
        sequence, cached, layers: of a network of operators: new tokens of a sequence, tokens in the cache
            before them, repeated layers; None: the suite's.
        tensor_parallel: devices that share each layer of a network of operators.
        type: of its numbers; None: the table's.
        attention: ``parts``: as products and softmax; ``fused``: one kernel, where there is one.
        kernels: workloads of kernels by operator, instead of those of this project.
        gfx: the GPU, which decides the kernels of operators; "": none yet.
    """

    n: int | None = None
    image: int | None = None
    direction: Passes = "both"
    group: str | None = None
    subset: int | None = None
    op: str | None = None
    steps: str = ""
    algorithm: Algorithm = "gemm"
    bias: bool = False
    devices: int = 1
    bandwidth: float = 16.0
    latency: float = 1.0
    sequence: int | None = None
    cached: int | None = None
    layers: int | None = None
    tensor_parallel: int = 1
    type: str | None = None
    attention: Attention = "fused"
    kernels: tuple[tuple[str, str], ...] = ()
    gfx: str = ""

    def names(self, known: Iterable[str]) -> tuple[set[str], list[str]]:
        """Those of the names that ``steps`` chooses, and its patterns that no name has.

        A pattern has the names that it matches and all that are below them: ``encoder`` has ``encoder.norm``.
        """
        every, patterns = set(known), self.steps.split()
        chosen = set(every) if not patterns or patterns[0].startswith("-") else set()
        unknown = []
        for entry in patterns:
            pattern = entry.removeprefix("-")
            found = {
                name for name in every if fnmatchcase(name, pattern) or fnmatchcase(name, f"{pattern}.*")
            }
            chosen = chosen - found if entry.startswith("-") else chosen | found
            unknown += [] if found else [pattern]
        return chosen, unknown


OF_OPERATORS: Final = ("sequence", "cached", "layers", "tensor_parallel", "type", "attention", "kernels")
"""What can be chosen of networks of operators alone."""


def product(
    m: int,
    n: int,
    k: int,
    transpose_a: bool = False,
    transpose_b: bool = False,
    batch: int = 1,
    beta: int = 0,
) -> dict[str, Scalar]:
    """The keys of a matrix product that are not at their defaults."""
    usual = {"transpose_a": False, "transpose_b": False, "batch": 1, "beta": 0}
    given = {"transpose_a": transpose_a, "transpose_b": transpose_b, "batch": batch, "beta": beta}
    return {"m": m, "n": n, "k": k, **{key: given[key] for key in given if given[key] != usual[key]}}
