"""An axis of a figure: what varies, in which order, and what to write at it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from apuflow.core.units import clock_hertz, size_bytes
from apuflow_analysis.tables.columns import MACHINE, NOT_OPTIONS

COMPUTE_UNITS = "num_compute_units"
TOGETHER = "+"
"""Joins the names of columns, and their values, that are one axis."""

_LABELS = {
    COMPUTE_UNITS: "Compute units",
    "num_tccs": "TCC banks",
    "tcc_size": "TCC size",
    "tcp_size": "TCP size",
    "wfs_per_simd": "Wavefront slots per SIMD",
    "simds_per_cu": "SIMDs per compute unit",
    "gpu_clock": "GPU clock",
    "ruby_clock": "Network clock",
    "bw_scalor": "Network bandwidth factor (bw-scalor)",
    "num_dirs": "DRAM channels",
    "mem_type": "DRAM type",
    "vreg_file_size": "Vector registers per SIMD",
    "lds_size": "LDS size (B)",
    "layer.n": "Batch size n",
    "layer.c": "Channels c",
    "layer.h": "Height h",
    "layer.w": "Width w",
}
_SHORT = {
    COMPUTE_UNITS: "CUs",
    "mem_type": "DRAM",
    "bw_scalor": "bw-scalor",
    "wfs_per_simd": "slots per SIMD",
    "simds_per_cu": "SIMDs",
    "vreg_file_size": "VGPRs",
    "lds_size": "LDS",
}


@dataclass(frozen=True)
class Axis:
    """Something that varies over the rows.

    Attributes:
        column: its column.
        label: what to write at it.
        values: the distinct values in order.
        positions: where each stands: its size where all have one, else 0, 1, 2 ...
        numeric: whether positions are sizes.
    """

    column: str
    label: str
    values: tuple[Any, ...]
    positions: Mapping[Any, float]
    numeric: bool

    def text(self, value: Any) -> str:
        """A value as written at the axis."""
        if isinstance(value, float) and value.is_integer():
            return str(int(value))
        return str(value)


def quantity(value: object) -> float | None:
    """A plain number, or ``256kB`` in bytes and ``1.5GHz`` in hertz as gem5 reads them; None for others."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float | np.number):
        return float(value)
    text = str(value)
    try:
        return float(text)
    except ValueError:
        size = size_bytes(text)
        return clock_hertz(text) if size is None else float(size)


def label(column: str) -> str:
    """What to write at an axis or in a note for a column."""
    if column in _LABELS:
        return _LABELS[column]
    if TOGETHER in column:
        members = column.split(TOGETHER)
        name = short_label if "layer.m" in members else label  # of a matrix product n is no batch
        return f" {TOGETHER} ".join(map(name, members))
    if column.startswith("layer."):
        return f"Layer key {column.removeprefix('layer.')}"
    meaning = {entry.name: entry.meaning for entry in MACHINE}.get(column)
    return meaning[0].upper() + meaning[1:] if meaning else column


def in_sentence(text: str) -> str:
    """A label inside a sentence: its first letter small, unless it is a name in capitals."""
    return text[0].lower() + text[1:] if len(text) > 1 and text[1].islower() else text


def short_label(column: str) -> str:
    """A name for a column that is short enough for a legend entry."""
    if TOGETHER in column:
        return f" {TOGETHER} ".join(map(short_label, column.split(TOGETHER)))
    if column in _SHORT or column.startswith("layer."):
        return _SHORT.get(column, column.removeprefix("layer."))
    return _LABELS.get(column, column.replace("_", "-"))


def axis(rows: pd.DataFrame, column: str) -> Axis:
    """The distinct values of a column, in order of size where they have one."""
    distinct = [value for value in pd.unique(rows[column]) if value is not None and value == value]
    sizes = {value: quantity(value) for value in distinct}
    numeric = all(size is not None for size in sizes.values())
    if numeric:
        values = sorted(distinct, key=lambda value: sizes[value] or 0.0)
        positions = {value: float(sizes[value] or 0.0) for value in values}
    else:
        values = sorted(distinct, key=_parts)
        positions = {value: float(index) for index, value in enumerate(values)}
    return Axis(column, label(column), tuple(values), positions, numeric)


def _parts(value: object) -> tuple[tuple[float, str], ...]:
    """Sort key of values of several columns: sizes as sizes, the first column first."""
    return tuple((quantity(part) or 0.0, part) for part in str(value).split(f" {TOGETHER} "))


def axis_columns(frame: pd.DataFrame) -> tuple[str, ...]:
    """Columns that the sweep varies: as the table says, else machine and layer columns."""
    named = frame.attrs.get("axes")
    if named is None:
        known = [column.name for column in MACHINE if column.name not in NOT_OPTIONS]
        named = [name for name in frame.columns if name in known or str(name).startswith("layer.")]
    return tuple(name for name in named if name in frame.columns and frame[name].nunique() > 1)
