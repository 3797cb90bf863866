"""``python -m apuflow.score.measured``: what the recorded gem5 runs span, for ``preview/measured.json``."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from apuflow.core import project
from apuflow.core.engines import PREVIEW_RELEASE, PREVIEW_VERSION
from apuflow.core.files import write_text
from apuflow.preview.coverage import FEWEST_RUNS, FILE, ROCBLAS, family
from apuflow.preview.machine import NUMBERS, memory_name
from apuflow.score.errors import point_errors, random_layers, read_runs, read_tables, recorded, score
from apuflow.score.runs import row_machine


def spanned(without: int | None = None) -> dict[str, Any]:
    """Ranges and errors of the recorded runs, as ``measured.json`` holds them.

    Ranges are those of all runs, but for rocBLAS' kernels: they ran on random machines, and these
    ranges are no other kernel's. Errors are those of random layers, where a kernel has enough of
    them: the model's constants were chosen by the other runs, and it is nearer to these.
    ``without``: number of a sample of layers that is left out.
    """
    layers = read_runs(random_layers())
    layers = _scored(layers[layers["draw"] != str(without)])
    products = _scored(read_runs(project.recorded_runs() / "products.csv"))
    networks = sorted(project.recorded_runs().glob("networks*.csv"))
    runs = pd.concat([_scored(read_tables([*recorded(), *networks])), layers])
    kernels = pd.concat([runs, products[products["kernel"].str.startswith(ROCBLAS)]])
    rows = ({str(key): value for key, value in row.items()} for row in runs.to_dict("records"))
    machines = list(map(row_machine, rows))
    points = point_errors(layers).abs()
    releases = set(layers["point"].str.partition("_")[0])
    in_layers = layers.groupby(layers["kernel"].map(family))["error"]
    errors = {name: part for name, part in in_layers if len(part) >= FEWEST_RUNS}
    return {
        "source": "apuflow.score.measured, from data/gem5_runs",
        "preview": PREVIEW_VERSION,
        "runs": len(runs),
        "layers": {
            "points": len(points),
            "median": _rounded(points.median(), 6),
            "p90": _rounded(points.quantile(0.9), 6),
        },
        "errors": _percentiles(layers["error"]),
        "far": _percentiles(layers["error"], 0.01),
        "bounds": {
            str(bound): _percentiles(part["error"])
            for bound, part in layers.groupby("bound")
            if len(part) >= FEWEST_RUNS
        },
        "releases": sorted(releases | {PREVIEW_RELEASE}),
        "memories": sorted({memory_name(machine.dram) for machine in machines}),
        "machine": {name: _range([getattr(machine, name) for machine in machines]) for name in NUMBERS},
        "kernels": {
            str(kernel): {
                "runs": len(part),
                **{name: _range(part[name]) for name in ("wavefronts", "gpu_cycles", "dram_bytes")},
                "errors": _percentiles(errors.get(kernel, part["error"])),
            }
            for kernel, part in kernels.groupby(kernels["kernel"].map(family))
        },
    }


def _scored(runs: pd.DataFrame) -> pd.DataFrame:
    frame = score(runs).frame
    for column in ("wavefronts", "gpu_cycles", "dram_bytes_read", "dram_bytes_written"):
        frame[column] = pd.to_numeric(frame[column])
    return frame.assign(dram_bytes=frame["dram_bytes_read"] + frame["dram_bytes_written"])


def text(without: int | None = None) -> str:
    """The file's content."""
    return json.dumps(spanned(without), indent=1) + "\n"


def _range(values: Iterable[float]) -> list[float]:
    values = list(values)
    return [_rounded(min(values)), _rounded(max(values))]


def _percentiles(errors: pd.Series, outside: float = 0.05) -> list[float]:
    return [_rounded(errors.quantile(share)) for share in (outside, 1.0 - outside)]


def _rounded(value: float | np.floating[Any], digits: int = 4) -> float:
    exact = float(value)
    number = float(f"{exact:.{digits}g}") if abs(exact) < 1000 else exact
    return int(number) if number.is_integer() else number


if __name__ == "__main__":
    write_text(FILE, text())
