"""Rows of a table of runs (``runs.csv``) as launches and machines, for scoring.

Columns: ``primitive kernel n c h w kernel_size pad stride grid_* workgroup_*`` and option columns
(underscored
``apu_se.py`` names); an empty option cell means the default. Compile arguments and kernel arguments are
those that MIOpen derives for the layer.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from apuflow.dnnmark import Direction, parse
from apuflow.errors import ApuflowError, NotModelled
from apuflow.miopen import Launch, launches
from apuflow.preview.engine import barrier_slots
from apuflow.preview.kernels.facts import Facts, facts_of
from apuflow.preview.machine import DEFAULTS, Machine, Value, machine

KEYS = {key.replace("-", "_"): key for key in DEFAULTS}
MODES = ("sigmoid", "tanh", "relu", "soft_relu")


def text(row: Mapping[str, Any], key: str) -> str:
    """A cell as text, empty for NaN and absent columns; whole floats without their point."""
    value = row.get(key)
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    found = str(value).strip()
    return found[:-2] if found.endswith(".0") else found


def _int(row: Mapping[str, Any], key: str, default: int | None = None) -> int:
    cell = text(row, key)
    if not cell:
        if default is None:
            raise NotModelled("a run has no value in a column", key=key, value="")
        return default
    try:
        return int(float(cell))
    except ValueError:
        raise NotModelled("a run's cell is not a number", key=key, value=cell) from None


def row_machine(row: Mapping[str, Any]) -> Machine:
    """Machine of a run from its option columns."""
    options: dict[str, Value] = {key: text(row, column) for column, key in KEYS.items() if text(row, column)}
    return machine(options, barrier_slots=barrier_slots(text(row, "release")))


def _section(row: Mapping[str, Any], kernel: str) -> tuple[str, dict[str, object]]:
    """DNNMark section and keys of the layer that launches ``kernel``."""
    name = text(row, "primitive").rsplit("_", 1)[0]
    window = {key: text(row, key) for key in ("kernel_size", "pad", "stride") if text(row, key)}
    if kernel.startswith("Softmax"):
        return "Softmax", {}
    if kernel.startswith("MIOpenActive"):
        mode = {"softrelu": "soft_relu"}.get(name, name)
        return (
            ("Bypass", {})
            if name == "bypass"
            else ("Activation", {"activation_mode": mode if mode in MODES else "relu"})
        )
    if kernel.startswith("MIOpenBatchNorm"):
        return "BatchNorm", {"batchnorm_mode": "spatial" if "Spatial" in kernel else "per_activation"}
    if kernel.startswith("mloPooling"):
        average = "Ave" in kernel or "avg" in name or "ave" in name
        return "Pooling", {"pool_mode": "avg" if average else "max", **window}
    if kernel.startswith("MIOpenLRN"):
        return "LRN", {"lrn_mode": "within_channel" if "Within" in kernel else "cross_channel_dim1"}
    if kernel in {"Im2d2Col", "Col2Im2d", "SubTensorOpWithScalar1d"} or kernel.startswith("transpose_"):
        return "Convolution", {
            "conv_mode": "cross_correlation",
            "num_output": _int(row, "num_output", 32),
            **window,
        }
    raise NotModelled("the preview does not model this kernel", key="kernel", value=kernel)


@lru_cache(maxsize=16384)
def _candidates(config: str, cus: int) -> tuple[Launch, ...]:
    network = parse(config)
    found: list[Launch] = []
    directions: tuple[Direction, ...] = ("fwd", "bwd")
    for direction in directions:
        found += launches(network, direction, cus)
    return tuple(found)


def row_facts(row: Mapping[str, Any]) -> Facts:
    """Launch of a run: the launch of that kernel by a layer of the row's shape, with the row's own geometry.

    Raises:
        NotModelled: no layer of this shape launches the kernel, or the shape is not one of a layer.
    """
    kernel = text(row, "kernel")
    section, keys = _section(row, kernel)
    shape = {key: _int(row, key) for key in "nchw"}
    lines = ["[DNNMark]", "run_mode=standalone", "", f"[{section}]", "name=layer"]
    lines += [f"{key}={value}" for key, value in {**shape, **keys}.items()] + ["previous_layer=null", ""]
    grid = (_int(row, "grid_x"), _int(row, "grid_y", 1), _int(row, "grid_z", 1))
    group = (_int(row, "workgroup_x"), _int(row, "workgroup_y", 1), _int(row, "workgroup_z", 1))
    if kernel == "SubTensorOpWithScalar1d":
        return Facts(kernel, grid, group, "", (("elements", float(math.prod(shape.values()))),))
    try:
        found = [
            launch
            for launch in _candidates("\n".join(lines), _int(row, "num_compute_units", 4))
            if launch.kernel == kernel
        ]
    except ApuflowError as error:
        raise NotModelled(error.message, key=error.key, value=kernel) from error
    if not found:
        raise NotModelled("no layer of this shape launches the kernel", key="kernel", value=kernel)
    facts = facts_of(found[0])
    return Facts(kernel, grid, group, facts.arguments, facts.values)
