"""``python -m apuflow.study.measured``: what the recorded gem5 runs span, for ``preview/measured.json``."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from apuflow.core.engines import PREVIEW_VERSION
from apuflow.core.files import write_text
from apuflow.preview.coverage import FILE
from apuflow.preview.machine import NUMBERS, memory_name
from apuflow.study.score import read_tables, recorded, score
from apuflow.study.score_runs import row_machine


def spanned() -> dict[str, Any]:
    """Ranges and errors of the recorded runs, as ``measured.json`` holds them."""
    frame = score(read_tables(recorded())).frame
    for column in ("wavefronts", "gpu_cycles", "dram_bytes_read", "dram_bytes_written"):
        frame[column] = pd.to_numeric(frame[column])
    frame["dram_bytes"] = frame["dram_bytes_read"] + frame["dram_bytes_written"]
    rows = [{str(key): value for key, value in row.items()} for row in frame.to_dict("records")]
    machines = [row_machine(row) for row in rows]
    return {
        "source": "apuflow.study.measured, from data/gem5_runs",
        "preview": PREVIEW_VERSION,
        "runs": len(frame),
        "errors": _percentiles(frame["error"]),
        "largest": [_rounded(frame["error"].min()), _rounded(frame["error"].max())],
        "memories": sorted({memory_name(machine.dram) for machine in machines}),
        "machine": {name: _range([getattr(machine, name) for machine in machines]) for name in NUMBERS},
        "kernels": {
            str(kernel): {
                "runs": len(part),
                **{name: _range(part[name]) for name in ("wavefronts", "gpu_cycles", "dram_bytes")},
                "errors": _percentiles(part["error"]),
            }
            for kernel, part in frame.groupby("kernel")
        },
    }


def text() -> str:
    """The file's content."""
    return json.dumps(spanned(), indent=1) + "\n"


def _range(values: Iterable[float]) -> list[float]:
    values = list(values)
    return [_rounded(min(values)), _rounded(max(values))]


def _percentiles(errors: pd.Series) -> list[float]:
    return [_rounded(errors.quantile(share)) for share in (0.05, 0.95)]


def _rounded(value: float | np.floating[Any]) -> float:
    exact = float(value)
    number = float(f"{exact:.4g}") if abs(exact) < 1000 else exact
    return int(number) if number.is_integer() else number


if __name__ == "__main__":
    write_text(FILE, text())
