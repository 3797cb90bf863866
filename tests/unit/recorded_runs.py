"""Runs of single kernels on real gem5, and what the preview says of them."""

from __future__ import annotations

import csv
import lzma
from functools import cache
from typing import Any

from apuflow.preview.timing import times
from apuflow.score.errors import random_layers, recorded
from apuflow.score.runs import KEYS, row_machine, row_steps

CAMPAIGN = recorded()[1]


def runs(start: str = "") -> list[dict[str, Any]]:
    with CAMPAIGN.open(newline="") as file:
        return [row for row in csv.DictReader(file) if row["id"].startswith(start)]


@cache
def layer_rows() -> list[dict[str, Any]]:
    """Rows of the table of random layers."""
    with lzma.open(random_layers(), "rt", newline="") as file:
        return list(csv.DictReader(file))


def is_default(row: dict[str, Any]) -> bool:
    """Whether a run changed no option but the number of compute units."""
    return not any(row.get(column) for column in KEYS if column != "num_compute_units")


def predicted(row: dict[str, Any]) -> float:
    machine = row_machine(row)
    return float(times([row_steps(row, machine)[0]], [machine]).ns[0]) / machine.gpu_ns
