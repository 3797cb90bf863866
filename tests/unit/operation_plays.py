"""Operations played by NumPy's version of their kernels, for tests that hold them against definitions."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from apuflow import operations
from apuflow.launcher.reference_kernels import execute
from apuflow.miopen import expand
from apuflow.operations.operation import Pass

Array = NDArray[Any]


def play(
    kind: str,
    shape: dict[str, Any],
    direction: Pass = "fwd",
    given: dict[str, Array] | None = None,
    seed: int = 1,
) -> dict[str, Array]:
    """All buffers after the launches, named without the kind; before, all but ``given`` are uniform."""
    random = np.random.default_rng(seed)
    every = tuple(expand(operations.make(kind, shape).launches(direction, 4)))
    sizes: dict[str, int] = {}
    for launch in every:
        for arg in launch.args:
            if arg.kind == "buffer":
                sizes[str(arg.value)] = max(arg.elements, sizes.get(str(arg.value), 0))
    memory: dict[str, Array] = {}
    for name, size in sizes.items():
        memory[name] = random.random(size, np.float32)
        short = name.partition(".")[2]
        if given and short in given:
            value = np.asarray(given[short])
            kept = value if value.dtype.kind in "iu" else value.astype(np.float32)
            memory[name] = kept.ravel().copy()
            assert memory[name].size == size, short
    before = {name.partition(".")[2]: values.copy() for name, values in memory.items()}
    for launch in every:
        execute(launch, memory)
    after = {name.partition(".")[2]: values for name, values in memory.items()}
    return {**after, **{f"{name} before": values for name, values in before.items()}}
