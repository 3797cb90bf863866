"""The learned correction of the timing model: extremely random trees on physical quantities.

``python -m apuflow.score.train`` writes the trees to ``residual.csv.xz``, from recorded runs. Their target is
the logarithm of recorded over modelled cycles. Each fifth of the trees has not seen a fifth of the layers.
The score of a recorded run takes these trees alone, so that its error is that of a new layer.
Source: Geurts, Ernst, Wehenkel, "Extremely randomized trees", Machine Learning 63, 2006.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

FOLDS: Final = 5
"""Parts of the layers."""
FILE: Final = Path(__file__).with_name("residual.csv.xz")
Array = NDArray[np.float64]


class Forest(NamedTuple):
    """Trees as tables of nodes, one tree behind the other.

    Attributes:
        names: of the quantities.
        roots: node of each tree; the trees that have not seen the same part of the layers are together.
        feature: of a node, the number of the quantity that it compares; -1: it is a leaf.
        threshold: up to which it goes to the node ``left``, and beyond to the next one; of a leaf, the value.
    """

    names: tuple[str, ...]
    roots: NDArray[np.int64]
    feature: NDArray[np.int64]
    threshold: Array
    left: NDArray[np.int64]

    def values(self, table: Array, folds: NDArray[np.int64] | None = None) -> Array:
        """The mean of the trees' values.

        Args:
            table: rows with a column for each of ``names``.
            folds: part of the layers that each row is of; trees that have seen it are left out. -1: none has.
        """
        node = np.broadcast_to(self.roots, (len(table), len(self.roots)))
        rows = np.arange(len(table))[:, None]
        while (inner := (feature := self.feature[node]) >= 0).any():
            beyond = table[rows, feature] > self.threshold[node]
            node = np.where(inner, self.left[node] + beyond, node)
        values = self.threshold[node].reshape(len(table), FOLDS, len(self.roots) // FOLDS).mean(axis=2)
        mean: Array = values.mean(axis=1)
        return mean if folds is None else np.where(folds < 0, mean, values[np.arange(len(table)), folds])


@cache
def forest() -> Forest:
    """The trees that are shipped."""
    return read(pd.read_csv(FILE, dtype={"quantity": "category"}))


def read(nodes: pd.DataFrame) -> Forest:
    """Trees of a table with the columns ``tree``, ``quantity`` (empty: a leaf), ``threshold``.

    Nodes of a tree are in the order of their depth: the n-th inner one has the nodes 2n + 1 and 2n + 2.
    """
    quantity = nodes["quantity"].astype("category").cat  # its categories are sorted, a missing one is -1
    names = tuple(quantity.categories)
    feature = np.asarray(quantity.codes, dtype=np.int64)
    tree = nodes["tree"].to_numpy()
    roots = np.flatnonzero(np.diff(tree, prepend=-1))
    inner = np.cumsum(feature >= 0)
    before = np.concatenate([[0], inner])[roots]
    left = roots[tree] + 2 * (inner - 1 - before[tree]) + 1
    return Forest(names, roots, feature, nodes["threshold"].to_numpy(dtype=np.float64), left)


def correction(quantities: Mapping[str, Array], folds: NDArray[np.int64] | None = None) -> Array:
    """What the modelled time of each launch is multiplied with; ``folds`` as of :meth:`Forest.values`."""
    known = forest()
    factor: Array = np.exp(known.values(matrix(quantities, known.names), folds))
    return factor


def matrix(quantities: Mapping[str, Any], names: tuple[str, ...]) -> Array:
    """The quantities as columns, in this order; 32 bits, as scikit-learn compares them."""
    columns = np.stack([np.asarray(quantities[name], dtype=np.float64) for name in names], axis=1)
    return np.nan_to_num(columns.astype(np.float32).astype(np.float64), posinf=0.0, neginf=0.0)
