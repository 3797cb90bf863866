"""``python -m apuflow.score.measured``: what the recorded gem5 runs span, and the errors of the preview.

It writes ``preview/measured.json`` and ``docs/measured/preview.md`` from ``data/gem5_runs`` and the model.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd

from apuflow.core import project
from apuflow.core.engines import PREVIEW_RELEASE, PREVIEW_VERSION
from apuflow.core.files import write_text
from apuflow.preview.counters import counter_columns
from apuflow.preview.coverage import FEWEST_RUNS, FILE, ROCBLAS, family
from apuflow.preview.machine import NUMBERS, memory_name
from apuflow.preview.timing import times
from apuflow.score.errors import (
    UNSEEN,
    modelled,
    ordered_pairs,
    point_errors,
    random_layers,
    read_runs,
    read_tables,
    recorded,
    score,
)
from apuflow.score.runs import row_machine

FEWEST_SPANNED: Final = 5
"""Runs from which a kernel has ranges: two runs do not tell how far a third one is off."""


def spanned(without: int | None = None) -> dict[str, Any]:
    """Ranges and errors of the recorded runs, as ``measured.json`` holds them.

    Ranges are those of all runs of a kernel, if there are ``FEWEST_SPANNED``. rocBLAS' kernels ran on
    random machines, and these ranges are no other kernel's. Errors are those of random layers, where a
    kernel has enough of them: the model's constants were chosen by the other runs, and it is nearer to these.
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
            if len(part) >= FEWEST_SPANNED
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


PAGE: Final = Path("docs/measured/preview.md")
COUNTERS: Final = (
    "instructions", "vector_memory_insts", "tcp_load_events", "tcc_reads", "tcc_read_misses",
    "dram_bytes_read", "dram_bytes_written", "l1_tlb_misses", "page_walks",
)  # fmt: skip
FEWEST: Final = 100
"""Smallest count of gem5 whose relative error means something."""
_ERRORS: Final = ("median", "90th percentile", "largest")


def page() -> str:
    """The page: errors of the preview's GPU cycles and counters, by set of runs and by primitive."""
    alone = score(read_tables(recorded())).frame
    layers = score(read_runs(random_layers())).frame
    of_layers = point_errors(layers)
    facts = layers.groupby("point")[["primitive", "num_dirs", "draw"]].first()
    sets = [
        ("one kernel alone", alone["error"]),
        ("whole layers drawn at random", of_layers),
        *((f"... with `num-dirs` of {n}", of_layers[facts["num_dirs"] == n]) for n in "124"),
        ("... by which no rule was chosen", of_layers[facts["draw"].isin(UNSEEN)]),
        ("products of rocBLAS", _table_of("products")),
        ("operations of AlexNet and DeepBench", _table_of("networks")),
        ("operations of SqueezeNet", _table_of("networks_2")),
        ("large layers of networks, from which nothing was learned", _table_of("networks_3")),
        ("sweeps on machines with several directories", _table_of("wide")),
        ("sweeps over one option or size", _table_of("scaling")),
        ("layers of more than 10 million cycles", _table_of("large")),
    ]  # fmt: skip
    groups = [(str(name), rows) for name, rows in alone.groupby("primitive")]
    by_primitive = [
        (*row(name, part["error"]), "{} of {}".format(*ordered_pairs(part.reset_index(drop=True))))
        for name, part in [*groups, ("all", alone)]
    ]
    return "\n".join(
        [
            "# Measured error of the preview\n",
            f"Preview {PREVIEW_VERSION} against the recorded runs of gem5 in `data/`.\n"
            "An error is the relative difference of GPU cycles in percent, without its sign.\n"
            "`python -m apuflow.score.measured` writes this page.\n",
            "## By set of runs\n",
            table(("runs of gem5", "number", *_ERRORS), (row(name, part) for name, part in sets)),
            "## One kernel alone\n",
            "A pair is two runs of a sweep over compute units, more than 10 % apart on gem5.\n"
            "The last column counts the pairs that the preview puts in the same order.\n",
            table(("primitive", "runs", *_ERRORS, "in order"), by_primitive),
            "## Layers drawn at random\n",
            table(
                ("primitive", "layers", *_ERRORS),
                (row(str(name), part) for name, part in of_layers.groupby(facts["primitive"])),
            ),
            "## Counters\n",
            f"The same kernels, but for those that run several times; counts of {FEWEST} and more.\n",
            table(("counter", "kernels", *_ERRORS), (row(f"`{name}`", part) for name, part in counts())),
        ]
    )


def counts() -> Iterable[tuple[str, pd.Series]]:
    """Of each counter the relative errors over the kernels of drawn layers that run once."""
    known = modelled(read_runs(random_layers()))
    once = [row for row, steps in enumerate(known.steps) if len(steps) == 1 and steps[0].times == 1]
    launched, machines = [known.steps[row][0] for row in once], [known.machines[row] for row in once]
    found = counter_columns(times(launched, machines))
    frame = known.frame.iloc[once].reset_index(drop=True)
    for name in COUNTERS:
        real = pd.to_numeric(frame[name])
        error = pd.Series(np.asarray(found[name], dtype=float)) / real - 1.0
        yield name, error[real >= FEWEST].dropna()


def row(name: str, errors: pd.Series) -> tuple[str, ...]:
    """A name, the number of errors, and their median, 90th percentile and maximum in percent."""
    off = 100 * errors.abs()
    numbers = (off.median(), off.quantile(0.9), off.max())
    return name, f"{len(off):,}", *(f"{number:.1f}" for number in numbers)


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown; its columns but the first hold numbers."""
    lines = [headings, ["---", *["--:"] * (len(headings) - 1)], *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def _table_of(name: str) -> pd.Series:
    """Errors of the points of one recorded table."""
    return point_errors(score(read_runs(project.recorded_runs() / f"{name}.csv")).frame)


def main() -> None:
    """Write both files."""
    write_text(FILE, text())
    write_text(PAGE, page())


if __name__ == "__main__":
    main()
