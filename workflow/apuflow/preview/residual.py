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
ROWS: Final = 512
"""Rows at a time: their nodes fit the processor's caches."""
Array = NDArray[np.float64]
Nodes = NDArray[np.int32]


class Forest(NamedTuple):
    """Trees as tables of nodes, one tree behind the other.

    Attributes:
        names: of the quantities.
        roots: node of each tree; the trees that have not seen the same part of the layers are together.
        feature: of a node, the number of the quantity that it compares; -1: it is a leaf.
        threshold: up to which it goes to the node ``left``, and beyond to the next one; a leaf: itself.
        value: of a leaf.
    """

    names: tuple[str, ...]
    roots: Nodes
    feature: Nodes
    threshold: Array
    left: Nodes
    value: Array

    def values(self, table: Array, folds: NDArray[np.int64] | None = None) -> Array:
        """The mean of the trees' values.

        Args:
            table: rows with a column for each of ``names``.
            folds: part of the layers that each row is of; trees that have seen it are left out. -1: none has.
        """
        parts = [self._of_folds(table[begin : begin + ROWS]) for begin in range(0, len(table), ROWS)]
        values = np.concatenate([np.zeros((0, FOLDS)), *parts])
        mean: Array = values.mean(axis=1)
        return mean if folds is None else np.where(folds < 0, mean, values[np.arange(len(table)), folds])

    def _of_folds(self, table: Array) -> Array:
        """(rows, parts): the mean of the trees that have not seen a part."""
        begin = (np.arange(len(table), dtype=np.int32) * table.shape[1])[:, None]
        flat = table.ravel()
        node = np.broadcast_to(self.roots, (len(table), len(self.roots)))
        while True:
            beyond = flat.take(begin + self.feature.take(node)) > self.threshold.take(node)
            following = self.left.take(node) + beyond
            if (following == node).all():
                break
            node = following
        means: Array = self.value[node].reshape(len(table), FOLDS, -1).mean(axis=2)
        return means


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
    feature = np.asarray(quantity.codes, dtype=np.int32)
    tree = nodes["tree"].to_numpy()
    roots = np.flatnonzero(np.diff(tree, prepend=-1))
    inner = np.cumsum(feature >= 0)
    before = np.concatenate([[0], inner])[roots]
    left = roots[tree] + 2 * (inner - 1 - before[tree]) + 1
    leaf, number = feature < 0, nodes["threshold"].to_numpy(dtype=np.float64)
    threshold, left = np.where(leaf, np.inf, number), np.where(leaf, np.arange(len(leaf)), left)
    return Forest(names, roots.astype(np.int32), feature, threshold, left.astype(np.int32), number)


def correction(quantities: Mapping[str, Array], folds: NDArray[np.int64] | None = None) -> Array:
    """What the modelled time of each launch is multiplied with; ``folds`` as of :meth:`Forest.values`."""
    known = forest()
    factor: Array = np.exp(known.values(matrix(quantities, known.names), folds))
    return factor


def matrix(quantities: Mapping[str, Any], names: tuple[str, ...]) -> Array:
    """The quantities as columns, in this order; 32 bits, as scikit-learn compares them."""
    columns = np.stack([np.asarray(quantities[name], dtype=np.float64) for name in names], axis=1)
    return np.nan_to_num(columns.astype(np.float32).astype(np.float64), posinf=0.0, neginf=0.0)
