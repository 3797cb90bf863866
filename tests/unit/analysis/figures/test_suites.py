"""Figures of suites: the shares and times that they draw, and what they refuse."""

from __future__ import annotations

import pandas as pd
import pytest

from apuflow_analysis import figures
from apuflow_analysis.figures import FIGURES, FigureError

STEPS = (
    ("one", "conv", "forward", 2.0),
    ("two", "relu", "forward", 1.0),
    ("gone", "dropout", "forward", None),
    ("two", "relu", "backward", 1.0),
    ("one", "conv", "backward", 4.0),
)


def items() -> pd.DataFrame:
    frame = pd.DataFrame(
        [
            {
                "suite": "net",
                "engine": "preview",
                "num_compute_units": units,
                "layer.n": 8.0,
                "item": 1,
                "name": name,
                "op": op,
                "phase": phase,
                "repeats": 1,
                "total_ms": None if ms is None else ms / units,
                "iteration": f"net-{units} preview",
                "weights_bytes": 4e6,
                "activations_bytes": 8e6,
            }
            for units in (1, 4)
            for name, op, phase, ms in STEPS
        ]
    )
    frame["total_ms"] = pd.to_numeric(frame["total_ms"])
    frame.attrs["axes"] = ("num_compute_units", "layer.n")
    return frame


def test_points_of_layer_values_that_are_set_together_are_told_apart() -> None:
    """As in sweep llama3_block, where neither the sequence nor the cache tells a point."""
    layers = {"layer.sequence": [128, 1, 1], "layer.cached": [0, 0, 1024]}
    rows = pd.concat([items().assign(**{name: given[k] for name, given in layers.items()}) for k in range(3)])
    rows = rows.reset_index(drop=True)
    rows.attrs["axes"] = ("num_compute_units", *layers)
    chosen = figures.choose(rows, figures.Choice(together=(tuple(layers),)))
    assert sorted(set(chosen["layer.sequence+layer.cached"])) == ["1 + 0", "1 + 1024", "128 + 0"]


def test_shares_of_kinds_and_phases_are_those_of_the_time() -> None:
    kinds = figures.make("operations", items()).data.set_index(["label", "op"])["share"]
    assert kinds["net, CUs 1", "conv"] == 6 / 8
    assert kinds["net, CUs 4", "relu"] == 2 / 8
    phases = figures.make("phases", items()).data.set_index(["label", "phase"])["share"]
    assert phases["net, CUs 1", "backward"] == 5 / 8


def test_what_was_not_run_is_named() -> None:
    plot = figures.make("operations", items())
    assert "not run, and not part of it: dropout" in " ".join(plot.notes)
    assert "preview (timing model, not gem5)" in " ".join(plot.notes)


def test_layers_keep_their_order_and_their_number() -> None:
    data = figures.make("layers", items()).data
    assert data["step"].tolist() == [1, 2, 4, 5] * 2
    assert data["total_ms"].tolist() == [2, 1, 1, 4, 0.5, 0.25, 0.25, 1]


def test_where_layers_do_not_fit_every_suite_has_a_panel() -> None:
    first = items()
    frame = pd.concat(
        [
            first.assign(num_compute_units=units, suite=suite, iteration=f"{suite}-{units}")
            for suite, machines in (("net", range(1, 9)), ("other", (1,)))
            for units in machines
        ]
    )
    frame.attrs["axes"] = ("num_compute_units",)
    plot = figures.make("layers", frame)
    shown = list(dict.fromkeys(plot.data["label"]))
    assert shown == [*(f"net, CUs {units}" for units in range(1, 6)), "other, CUs 1"]
    assert "6 of 9 combinations are shown; the CSV tables have all" in plot.notes


def test_memory_is_drawn_by_part() -> None:
    data = figures.make("memory", items()).data
    assert data["weights"].tolist() == [4e6, 4e6]
    with pytest.raises(FigureError, match="none of the sweep's suites is a network"):
        figures.make("memory", items().drop(columns=["weights_bytes", "activations_bytes"]))


def test_memory_is_drawn_over_the_images() -> None:
    more = items()
    more["layer.n"] = 16.0
    more["activations_bytes"] = 16e6
    data = figures.make("memory_images", pd.concat([items(), more])).data
    assert data["images"].tolist() == [8, 16]
    assert data["activations"].tolist() == [8e6, 16e6]
    with pytest.raises(FigureError, match="several numbers of images"):
        figures.make("memory_images", items())


@pytest.mark.parametrize("name", [name for name, spec in FIGURES.items() if spec.per_item])
def test_a_table_of_points_carries_no_figure_of_suites(name: str) -> None:
    with pytest.raises(FigureError, match="suites"):
        figures.make(name, pd.DataFrame({"engine": ["preview"], "status": ["completed"]}))
