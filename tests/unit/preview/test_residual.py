"""The learned correction: trees as scikit-learn has them, runs scored by trees that have not seen them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from apuflow.preview.residual import FOLDS, forest, read
from apuflow.score.train import nodes


def test_written_trees_say_what_scikit_learn_says() -> None:
    from sklearn.ensemble import ExtraTreesRegressor  # loading takes a second of each worker

    table = np.random.default_rng(1).uniform(size=(300, 3)).astype(np.float32)
    target = table[:, 0] + 10 * (table[:, 1] > 0.5)
    trees = ExtraTreesRegressor(2 * FOLDS, min_samples_leaf=3, random_state=0).fit(table, target)
    names = ("a", "b", "c")
    found = read(pd.DataFrame(nodes(trees.estimators_, names), columns=["tree", "quantity", "threshold"]))
    assert found.names == names
    # Thresholds have three digits and values two: an element on the edge may fall on the other side.
    off = np.abs(found.values(table.astype(np.float64)) - trees.predict(table))
    assert np.median(off) < 0.05 and off.max() < 1.5


def test_a_row_of_a_part_is_answered_by_the_trees_that_have_not_seen_it() -> None:
    rows = [(tree, None, float(tree // 2)) for tree in range(2 * FOLDS)]
    found = read(pd.DataFrame(rows, columns=["tree", "quantity", "threshold"]))
    table = np.zeros((3, 1))
    assert found.values(table, np.array([0, 3, -1])) == pytest.approx([0.0, 3.0, 2.0])


def test_the_shipped_trees_correct_by_no_more_than_e() -> None:
    leaves = forest().value[forest().feature < 0]
    assert len(forest().roots) % FOLDS == 0
    assert np.abs(leaves).max() <= 1.0
