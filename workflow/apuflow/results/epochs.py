"""Epochs from the summaries of networks."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from apuflow.core.errors import ConfigError
from apuflow.core.units import format_duration
from apuflow.dnnmark.shape import FLOAT_BYTES
from apuflow.suites.epoch import DATASETS, EXTRAPOLATED, Dataset, ParallelIteration, Ring, epoch

_NEEDED = ("suite", "engine", "status", "images", "forward_ms", "backward_ms", "update_ms", "params")
_FIXED = (*_NEEDED, "direction", "total_ms", "images_per_s", "flop", "tflops", "steps", "not_run", "evidence")
_OWN = ("layer.n", "layer.devices", "layer.bandwidth", "layer.latency")
"""Axes of a sweep that an epoch has numbers of its own for."""
_COVERAGE = (
    *("engine_version", "products", "operations", "unmeasured", "unmeasured_share"),
    *("stand_ins", "stand_in_share"),
)
"""What the simulated iteration rests on (``apuflow_analysis.tables.suite_sums.coverage``)."""


def epoch_numbers(
    summary: Path, dataset: str, ring: Ring, price_per_hour: float | None = None
) -> list[dict[str, Any]]:
    """A row per iteration of a summary: its phases, communication among them, and the epoch made of it.

    Columns ``overlapped_...`` have the communication beside the backward pass. None: not known, or no price.

    Args:
        summary: ``items/SUITE.summary.csv``.
        dataset: one of ``DATASETS``, or a number of examples.
        price_per_hour: of all devices together.

    Raises:
        ConfigError: no such table or data set, or no row of a whole training iteration.
    """
    if dataset in DATASETS:
        chosen = DATASETS[dataset]
    elif dataset.isdigit() and int(dataset):
        chosen = Dataset(int(dataset), "", "given")
    else:
        remedy = f"one of {', '.join(DATASETS)}, or a number of examples"
        raise ConfigError("no such data set", key="dataset", value=dataset, remedy=remedy)
    rows = [row for row in _read(summary) if row["backward_ms"] and row["images"]]
    if not rows:
        remedy = "run a network with direction: both (a list of items has no iteration)"
        raise ConfigError("no row is an iteration of training", file=summary, remedy=remedy)
    found = [_numbers(row, chosen, ring, price_per_hour) for row in rows]
    return [row for place, row in enumerate(found) if row not in found[:place]]


def _numbers(row: Mapping[str, str], dataset: Dataset, ring: Ring, price: float | None) -> dict[str, Any]:
    seconds = {phase: float(row[f"{phase}_ms"] or 0) / 1e3 for phase in ("forward", "backward", "update")}
    batch = round(float(row["images"]))
    one = ParallelIteration(**seconds, communication=ring.seconds(FLOAT_BYTES * int(row["params"])))
    names = list(row)
    varied = [name for name in names[2 : names.index("direction")] if name not in (*_FIXED, *_OWN)]
    found: dict[str, Any] = {"suite": row["suite"], "engine": row["engine"]}
    found |= {name.removeprefix("layer."): row[name] for name in varied}
    found |= {"n": batch, "devices": ring.devices}
    found |= {f"{phase}_ms": duration * 1e3 for phase, duration in seconds.items()}
    if not row["update_ms"]:
        found["update_ms"] = None
    found["communication_ms"] = one.communication * 1e3
    for name, duration in (("", one.apart), ("overlapped_", one.overlapped)):
        of_all = epoch(dataset.train, batch, ring.devices, duration, price)
        found[f"{name}iteration_ms"] = duration * 1e3
        found[f"{name}images_per_s"] = batch * ring.devices / duration
        found[f"{name}epoch_s"] = of_all.seconds
        found[f"{name}cost"] = of_all.cost
    found["examples"], found["examples_source"] = dataset.train, dataset.source
    found["basis"] = EXTRAPOLATED
    found |= {name: row[name] for name in _COVERAGE if name in row}
    return found


def epoch_text(numbers: Mapping[str, Any]) -> dict[str, str]:
    """A row of ``epoch_numbers`` for a reader."""
    names = list(numbers)
    found = {name: str(numbers[name]) for name in names[: names.index("devices") + 1]}
    several = numbers["devices"] > 1
    for name in ("", "overlapped_") if several else ("",):
        shown = name.replace("_", " ")
        found[f"{shown}iteration"] = f"{numbers[f'{name}iteration_ms']:,.2f} ms"
        found[f"{shown}images/s"] = f"{numbers[f'{name}images_per_s']:,.2f}"
        found[f"{shown}epoch"] = format_duration(numbers[f"{name}epoch_s"])
        if numbers[f"{name}cost"] is not None:
            found[f"{shown}cost"] = f"{numbers[f'{name}cost']:,.2f}"
    if several:
        found["all-reduce"] = f"{numbers['communication_ms']:,.3f} ms"
    if numbers["update_ms"] is None:
        found["update"] = "not in it"
    if numbers.get("unmeasured_share"):
        found["unmeasured"] = f"{float(numbers['unmeasured_share']):.0%} of the time"
    return found


def _read(summary: Path) -> list[dict[str, str]]:
    try:
        rows = list(csv.DictReader(summary.read_text(encoding="utf-8").splitlines()))
    except (OSError, UnicodeDecodeError):
        rows = []
    if not rows or any(name not in rows[0] for name in _NEEDED):
        remedy = "make it: snakemake --cores all results/SWEEP/items/SUITE.summary.csv"
        raise ConfigError("not the summary of a suite", file=summary, remedy=remedy)
    return [row for row in rows if row["status"] == "completed"]
