"""The preview's products against AMD's measurements on an R9 Nano.

    .venv/bin/python benchmarks/hardware_products.py [--machine r9-nano] [--figure FILE.svg]
    .venv/bin/python benchmarks/hardware_products.py --runs results/r9_nano/gemm.csv   # also gem5's

rocBLAS' logic files hold the GFLOPS of 243 sizes on that card, 152 of them DeepBench's
(``apuflow/rocblas/measured.csv``). Prints the ratio of previewed to measured GFLOPS, by transposes and by
bound, and writes a CSV of all sizes next to the figure. Nothing is fitted.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from measuring import ROOT, parser

from apuflow import preview
from apuflow.configure import load_machine, option_rules
from apuflow.core.scalar import Scalar
from apuflow.miopen.launch import Arg, Gemm
from apuflow.miopen.rocm_4_0_1.gemm import product
from apuflow.preview.kept import kept
from apuflow.preview.machine import Dram, GpuModel, machine
from apuflow.preview.process import steps
from apuflow.preview.timing import times
from apuflow.rocblas.call import library_launches
from apuflow.rocblas.tables import Measured, measured

HBM = Dram(4.0, 15.0, 15.0, 160.0, 3900.0, 10.0, 4.0)
"""HBM_1000_4H_1x128 of gem5's ``src/mem/DRAMInterface.py``: 64 bytes in 4 ns a channel."""
BARRIER_SLOTS = 4
"""Of gem5 v23.0, which the sweep runs."""


def gpu(name: str) -> GpuModel:
    """The model of a machine of ``configs/machines``.

    The preview does not model a discrete GPU's buffers, so the machine is an APU. It was never compared with
    gem5 on HBM, whose timing comes from gem5's file.
    """
    defaults = option_rules.defaults(preview.RELEASE)
    options: dict[str, Scalar | None] = {**defaults, **load_machine(name, ROOT).options}
    options |= {"cu-per-sa": options["num-compute-units"], "dgpu": False, "gfx-version": "gfx801"}
    hbm = options["mem-type"] == "HBM_1000_4H_1x128"
    if hbm:
        options["mem-type"] = defaults["mem-type"]
    made = machine(options, defaults, barrier_slots=BARRIER_SLOTS)
    return made._replace(dram=HBM) if hbm else made


def previewed(row: Measured, gpus: GpuModel, library: bool = True) -> tuple[float, str]:
    """GFLOPS of a size on a machine, and its last kernel's bound."""
    m, n, k = row.key
    a, b = row.transposes[0] == "T", row.transposes[1] == "T"
    gemm = Gemm(m, n, k, a, b, 1, k if a else m, n if b else k, m)
    x, y, z = (Arg("buffer", name, max(m * k, n * k, m * n), "in", name) for name in "abc")
    calls = (product("product", "FullyConnected", "fwd", (x, y, z), gemm),)
    found = library_launches(calls, "gfx803") if library else calls
    made = steps(found, kept(gpus))
    spent = times(made, [gpus] * len(made))
    return 2.0 * m * n * k / float(spent.ns.sum()), spent.bound[-1]


def table(gpus: GpuModel) -> pd.DataFrame:
    """A row per measured size."""
    rows = []
    for form in ("NN", "NT", "TN"):
        for row in measured(form):
            gflops, bound = previewed(row, gpus)
            stand_in, _ = previewed(row, gpus, library=False)
            rows.append((form, *row.key, row.gflops, gflops, stand_in, gflops / row.gflops, bound))
    columns = ["transposes", *"mnk", "measured", "preview", "stand_in", "ratio", "bound"]
    return pd.DataFrame(rows, columns=columns)


def simulated(frame: pd.DataFrame, results: Path) -> pd.DataFrame:
    """All sizes, with GFLOPS of a result table of gem5 in column ``gem5``."""
    runs = pd.read_csv(results).rename(columns=lambda name: name.removeprefix("layer."))
    runs = runs.loc[runs["status"] == "completed", [*"mnk", "transpose_a", "transpose_b", "gpu_active_ticks"]]
    transposes = zip(runs["transpose_a"].astype(bool), runs["transpose_b"].astype(bool), strict=True)
    runs = runs.assign(
        transposes=["NT"[a] + "NT"[b] for a, b in transposes],
        gem5=2e3 * runs["m"] * runs["n"] * runs["k"] / runs["gpu_active_ticks"],
    )
    found = frame.merge(runs[["transposes", *"mnk", "gem5"]], on=["transposes", *"mnk"], how="left")
    return found.assign(preview_error=found["gem5"] / found["preview"] - 1)


def draw(frame: pd.DataFrame, file: Path) -> None:
    """Plot previewed and, if known, simulated GFLOPS over measured ones, all logarithmic."""
    figure = Figure(figsize=(5, 4.5), layout="tight")
    axes = figure.subplots()
    for form, part in frame.groupby("transposes"):
        axes.loglog(part["measured"], part["preview"], "o", markersize=3, label=form)
    if "gem5" in frame:
        axes.loglog(frame["measured"], frame["gem5"], "kx", markersize=5, label="gem5")
    ends = [frame[["measured", "preview"]].min().min(), frame[["measured", "preview"]].max().max()]
    axes.plot(ends, ends, "k-", linewidth=0.5)
    axes.set_xlabel("measured on an R9 Nano [GFLOPS]")
    axes.set_ylabel("gem5's model of the card [GFLOPS]")
    axes.legend(frameon=False)
    figure.savefig(file)


def main() -> None:
    """Print the comparison."""
    command = parser(__doc__)
    command.add_argument("--machine", default="r9-nano")
    command.add_argument("--figure", type=Path)
    command.add_argument("--runs", type=Path, help="result table of gem5 with some of the sizes")
    given = command.parse_args()
    frame = table(gpu(given.machine))
    parts = [("all", frame), *frame.groupby("transposes"), *frame.groupby("bound")]
    for name, part in parts:
        low, middle, high = np.quantile(part["ratio"], [0.1, 0.5, 0.9])
        print(f"{name:8} {len(part):4} sizes: preview / measured {middle:.2f} ({low:.2f} to {high:.2f})")
    same = frame["measured"].rank().corr(frame["preview"].rank())
    print(f"rank correlation of preview and card {same:.2f}")
    slower = (frame["stand_in"] / frame["preview"]).median()
    print(f"stand-in / rocBLAS' kernels, preview, median {slower:.2f}")
    if given.runs:
        frame = simulated(frame, given.runs)
        run = frame[frame["gem5"].notna()].drop(columns=["stand_in", "ratio"])
        print(run.round(2).to_string(index=False))
    if given.figure:
        draw(frame, given.figure)
        frame.to_csv(given.figure.with_suffix(".csv"), index=False)


if __name__ == "__main__":
    main()
