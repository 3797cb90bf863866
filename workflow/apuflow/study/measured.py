"""``python -m apuflow.study.measured``: what the recorded gem5 runs span, for ``preview/measured.json``."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd

from apuflow.core import project
from apuflow.core.engines import PREVIEW_VERSION
from apuflow.core.files import write_text
from apuflow.preview.coverage import FILE, family
from apuflow.preview.machine import NUMBERS, memory_name
from apuflow.study.score import read_tables, recorded, score
from apuflow.study.score_runs import row_machine

PRODUCTS: Final = "Cijk_"
"""How rocBLAS' kernels begin. The stand-in's runs beside them are of both matrices transposed alone."""


def spanned() -> dict[str, Any]:
    """Ranges and errors of the recorded runs, as ``measured.json`` holds them.

    rocBLAS' kernels were run on machines drawn at random: those ranges are no other kernel's.
    """
    frame, products = _runs(recorded()), _runs([project.recorded_runs() / "products.csv"])
    kernels = pd.concat([frame, products[products["kernel"].str.startswith(PRODUCTS)]])
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
            for kernel, part in kernels.groupby(kernels["kernel"].map(family))
        },
    }


def _runs(tables: Sequence[Path]) -> pd.DataFrame:
    frame = score(read_tables(tables)).frame
    for column in ("wavefronts", "gpu_cycles", "dram_bytes_read", "dram_bytes_written"):
        frame[column] = pd.to_numeric(frame[column])
    return frame.assign(dram_bytes=frame["dram_bytes_read"] + frame["dram_bytes_written"])


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
