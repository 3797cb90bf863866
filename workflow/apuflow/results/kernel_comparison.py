"""The kernels of two runs compared: tables on the terminal, a CSV file, figures."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from apuflow.core import paths
from apuflow.core.errors import ApuflowError
from apuflow.core.figures import stem_of

if TYPE_CHECKING:
    import pandas as pd

    from apuflow_analysis.tables.dispatches import DispatchComparison


def compare_runs(
    a: Path, b: Path | None, engines: str, figure: Path | None
) -> tuple[pd.DataFrame, Callable[[], None]]:
    """Compare the kernels that runs launched, and draw them: a row per kernel, and what prints them.

    Args:
        a: a run directory; or, without ``b``, a result table, whose runs lie below the working directory.
        engines: of a table: the two engines, A's and B's, with a comma.

    Raises:
        ApuflowError: a figure of several pairs, or what is compared is not there.
        AnalysisError: see apuflow_analysis.tables.dispatches.
    """
    import pandas as pd

    from apuflow_analysis.tables.dispatches import compare_dispatches

    stem = None if figure is None else stem_of(figure)
    places = [(a, b)] if b is not None else _of_table(a, engines)
    if figure is not None and len(places) != 1:
        problem = f"the table has {len(places)} pairs of runs, a figure shows one"
        remedy = "name two run directories: runs/<engine>/<workload>/<point>"
        raise ApuflowError(problem, key="--figure", remedy=remedy)
    pairs = [compare_dispatches(left, right) for left, right in places]
    if stem is not None:
        _draw(pairs[0], stem)
    frames = [
        pair.table.assign(run_a=str(left), run_b=str(right))
        for pair, (left, right) in zip(pairs, places, strict=True)
    ]

    def show() -> None:
        for pair in pairs:
            _show(pair)

    return pd.concat(frames, ignore_index=True), show


def _of_table(table: Path, engines: str) -> list[tuple[Path, Path]]:
    from apuflow_analysis.tables.dispatches import run_pairs
    from apuflow_analysis.tables.store import read

    first, _, second = engines.partition(",")
    if table.is_dir() or not second:
        problem = "--kernels takes two run directories, or a table and two engines"
        examples = "runs/gem5/W/P runs/gem5-kernels/W/Q", "results/runtime/W.csv"
        remedy = ", or ".join(f"apuflow compare --kernels {example}" for example in examples)
        raise ApuflowError(problem, value=str(table), remedy=remedy)
    pairs = run_pairs(read(table), first.strip(), second.strip())
    return [(Path(paths.run_dir(*left)), Path(paths.run_dir(*right))) for left, right in pairs]


def _draw(compared: DispatchComparison, stem: Path) -> None:
    """Both figures of a pair of runs: ``stem`` and ``stem-time``, as SVG, PNG and CSV."""
    from apuflow_analysis.figures.comparisons import kernels_beside, time_parts
    from apuflow_analysis.figures.plot import save

    for plot, name in ((kernels_beside(compared), stem), (time_parts(compared), Path(f"{stem}-time"))):
        save(plot.figure, plot.data, name)


def _show(compared: DispatchComparison) -> None:
    """Print one pair of runs: its kernels, and what its time consists of."""
    from apuflow.core.terminal import table_of, terminal_console

    console = terminal_console()
    for label, name in zip("AB", compared.names, strict=True):
        console.print(f"{label}: {name}")
    texts = ("in", "kernel", "grid", "workgroup")
    table = table_of(texts, ("cycles A", "cycles B", "B / A", "registers A", "registers B"))
    for row in compared.table.to_dict("records"):
        cycles = [_whole(row[name]) for name in ("cycles_a", "cycles_b")]
        ratio = "" if row["ratio"] != row["ratio"] else f"{row['ratio']:.4f}"
        registers = (_registers(row, label) for label in "ab")
        table.add_row(*(str(row[name]) for name in texts), *cycles, ratio, *registers)
    console.print(table)
    parts = table_of(("simulated time",), ("kernels A", "cycles A", "kernels B", "cycles B"))
    for row in compared.parts.to_dict("records"):
        a, b = ((str(row[f"kernels_{label}"] or ""), _whole(row[f"cycles_{label}"])) for label in "ab")
        parts.add_row(row["meaning"], *a, *b)
    console.print(parts)
    for note in compared.notes:
        console.print(f"note: {note}")


def _whole(value: float) -> str:
    return "" if value != value else f"{value:,.0f}"


def _registers(row: Mapping[Hashable, Any], label: str) -> str:
    """Vector and scalar registers of a kernel."""
    values = [row[f"{kind}_registers_{label}"] for kind in ("vector", "scalar")]
    return "" if any(value is None or value != value for value in values) else "/".join(map(_whole, values))
