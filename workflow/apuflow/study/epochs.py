"""Epochs from the summaries of networks."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path

from apuflow.core.errors import ConfigError
from apuflow.core.units import format_duration
from apuflow.suites.epoch import DATASETS, epoch
from apuflow.suites.ring import FLOAT_BYTES, ParallelIteration, Ring

_NEEDED = ("suite", "engine", "status", "images", "forward_ms", "backward_ms", "update_ms", "params")
_FIXED = (*_NEEDED, "direction", "total_ms", "images_per_s", "flop", "tflops", "steps", "not_run", "evidence")


def epoch_rows(
    summary: Path, dataset: str, ring: Ring, price_per_hour: float | None = None
) -> list[dict[str, str]]:
    """A row per iteration of a summary, as text for a reader.

    Args:
        summary: ``items/SUITE.summary.csv``.
        dataset: one of ``DATASETS``, or a number of examples.
        ring: the devices.
        price_per_hour: of all devices together.

    Raises:
        ConfigError: no such table or data set, or no row of a whole training iteration.
    """
    examples = _examples(dataset)
    rows = [row for row in _read(summary) if row["backward_ms"] and row["images"]]
    if not rows:
        raise ConfigError(
            "no row is an iteration of training",
            file=summary,
            remedy="run a network with direction: both (a list of items has no iteration)",
        )
    return [_row(row, examples, ring, price_per_hour) for row in rows]


def _row(row: Mapping[str, str], examples: int, ring: Ring, price: float | None) -> dict[str, str]:
    seconds = {phase: float(row[f"{phase}_ms"] or 0) / 1e3 for phase in ("forward", "backward", "update")}
    batch = round(float(row["images"]))
    one = ParallelIteration(**seconds, communication=ring.seconds(FLOAT_BYTES * int(row["params"])))
    known = {"suite": row["suite"], "engine": row["engine"], **_axes(row)}
    found = {**known, "n": str(batch), "devices": str(ring.devices)}
    for name, duration in (("", one.apart), ("overlapped ", one.overlapped)):
        if name and ring.devices == 1:
            continue
        of_all = epoch(examples, batch, ring.devices, duration, price)
        found[f"{name}iteration"] = f"{duration * 1e3:,.2f} ms"
        found[f"{name}images/s"] = f"{batch * ring.devices / duration:,.2f}"
        found[f"{name}epoch"] = format_duration(of_all.seconds)
        if of_all.cost is not None:
            found[f"{name}cost"] = f"{of_all.cost:,.2f}"
    if ring.devices > 1:
        found["all-reduce"] = f"{one.communication * 1e3:,.3f} ms"
    if not row["update_ms"]:
        found["update"] = "not in it"
    return found


def _axes(row: Mapping[str, str]) -> dict[str, str]:
    names = list(row)
    return {
        name.removeprefix("layer."): row[name]
        for name in names[2 : names.index("direction")]
        if name not in _FIXED and name != "layer.n"
    }


def _examples(dataset: str) -> int:
    if dataset in DATASETS:
        return DATASETS[dataset].train
    if dataset.isdigit() and int(dataset):
        return int(dataset)
    raise ConfigError(
        "no such data set",
        key="dataset",
        value=dataset,
        remedy=f"one of {', '.join(DATASETS)}, or a number of examples",
    )


def _read(summary: Path) -> list[dict[str, str]]:
    try:
        rows = list(csv.DictReader(summary.read_text(encoding="utf-8").splitlines()))
    except (OSError, UnicodeDecodeError):
        rows = []
    if not rows or any(name not in rows[0] for name in _NEEDED):
        raise ConfigError(
            "not the summary of a suite",
            file=summary,
            remedy="make it: snakemake --cores all results/SWEEP/items/SUITE.summary.csv",
        )
    return [row for row in rows if row["status"] == "completed"]
