"""``python -m apuflow.score.train``: learns the preview's correction from the recorded runs.

It writes ``preview/residual.csv.xz``. Samples 24 to 28 of random layers take no part. It needs scikit-learn.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from apuflow.core import project
from apuflow.preview.residual import FILE, FOLDS, matrix
from apuflow.preview.timing import times_of
from apuflow.score.errors import RECORDED, fold, layer_names, learned, modelled, read_runs

Array = NDArray[np.float64]
TREES, LEAF = 200, 3
LARGEST: Final = 1.0
"""Logarithm of the largest correction."""


class Examples(NamedTuple):
    """Recorded launches.

    Attributes:
        frame: their rows.
        quantities: by name. core: modelled GPU cycles without a correction; recorded: gem5's.
    """

    frame: pd.DataFrame
    quantities: dict[str, Array]
    core: Array
    recorded: Array

    @property
    def target(self) -> Array:
        """Logarithm of the correction that would have been right."""
        return np.clip(np.log(self.recorded / self.core), -LARGEST, LARGEST)


def examples() -> Examples:
    """All recorded launches as the timing model sees them; the quantities are those of its last pass."""
    frames = [read_runs(project.recorded_runs() / name) for name in RECORDED]
    known = modelled(pd.concat(frames, ignore_index=True))
    row, often, launches = known.unrolled()
    found = times_of(launches, corrected=False)
    core = np.bincount(row, found.ns * often) / np.bincount(row, often)
    last = np.flatnonzero(np.diff(row, append=-1))
    periods = np.array([machine.gpu_ns for machine in known.machines])
    cycles = pd.to_numeric(known.frame["gpu_cycles"]).to_numpy(dtype=np.float64)
    quantities = {name: values[last] for name, values in found.quantities.items()}
    return Examples(known.frame, quantities, core / periods, cycles)


def trained(known: Examples, names: tuple[str, ...]) -> list[Any]:
    """Trees of scikit-learn; of each part of the layers, those that have not seen it."""
    from sklearn.ensemble import ExtraTreesRegressor

    table, used = matrix(known.quantities, names), learned(known.frame)
    part = np.array([fold(name) for name in layer_names(known.frame)])
    trees: list[Any] = []
    for left_out in range(FOLDS):
        rows = used & (part != left_out)
        forest = ExtraTreesRegressor(
            TREES // FOLDS, min_samples_leaf=LEAF, max_features=1.0, random_state=left_out
        )
        trees += forest.fit(table[rows], known.target[rows]).estimators_
    return trees


def nodes(trees: list[Any], names: tuple[str, ...]) -> Iterator[tuple[int, str | None, float]]:
    """Rows of the file (``residual.read``): tree, quantity, threshold or value."""
    for number, tree in enumerate(each.tree_ for each in trees):
        waiting = deque([0])
        while waiting:
            node = waiting.popleft()
            if tree.children_left[node] < 0:
                yield number, None, float(f"{tree.value[node][0][0]:.2g}")
            else:
                waiting += tree.children_left[node], tree.children_right[node]
                yield number, names[tree.feature[node]], float(f"{tree.threshold[node]:.3g}")


def main() -> None:
    """Write the file."""
    known = examples()
    names = tuple(sorted(known.quantities))
    columns = ["tree", "quantity", "threshold"]
    pd.DataFrame(nodes(trained(known, names), names), columns=columns).to_csv(
        FILE, index=False, compression="xz"
    )


if __name__ == "__main__":
    main()
