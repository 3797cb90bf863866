"""What the receiver of a report needs first and last: how far to trust it, and how to make it again."""

from __future__ import annotations

import pandas as pd

from apuflow.core import paths
from apuflow.core.engines import engine_facts
from apuflow.core.products import title
from apuflow_analysis.figures.panels import unmeasured
from apuflow_analysis.report.describe import SweepDescription
from apuflow_analysis.tables.columns import PRODUCTS, WRONG
from apuflow_analysis.tables.records import COMPLETED


def trust(sweep: SweepDescription, frame: pd.DataFrame) -> list[str]:
    """A line for each engine: who made the numbers, and how they are known to be right."""
    return [_trust(str(engine), sweep, rows) for engine, rows in frame.groupby("engine", sort=True)]


def has_stand_ins(frame: pd.DataFrame) -> bool:
    """Whether kernels of this project took the place of the program's own in some row."""
    return "stand_in" in frame.columns and bool(frame["stand_in"].dropna().astype(str).str.len().any())


def measured(rows: pd.DataFrame) -> pd.Series[bool]:
    """Of each row whether its cycles are a model's and lie within what that model was measured on."""
    modelled = [not engine_facts(str(engine)).simulates for engine in rows["engine"]]
    return pd.Series(modelled, rows.index) & (rows["status"] == COMPLETED) & ~unmeasured(rows)


def _trust(engine: str, sweep: SweepDescription, rows: pd.DataFrame) -> str:
    facts = engine_facts(engine)
    flags = rows["flags"].fillna("").astype(str)
    done, inside = int((rows["status"] == COMPLETED).sum()), int(measured(rows).sum())
    if facts.simulates:
        said = [f"{done} of {len(rows)} runs completed and proved it"]
    else:
        said = [f"{inside} of {len(rows)} points lie within what was measured"] if inside else []
        if inside and sweep.accuracy:
            said[0] += f" ({sweep.accuracy.partition(chr(10))[0].rstrip('.')})"
        if done > inside:
            said.append(f"{done - inside} of {len(rows)} points: error not measured")
    compared = rows.get("max_relative_error", pd.Series(dtype=float)).notna()
    if compared.any():
        wrong = int(flags.str.contains(WRONG, regex=False).sum())
        said.append(f"{compared.sum()} compared with NumPy, {f'{wrong} wrong' if wrong else 'all right'}")
    said += [f"matrix products by {text}" for text in _products(rows)]
    extrapolated = int(rows.get("extrapolated", pd.Series(dtype=object)).notna().sum())
    if extrapolated:
        said.append(f"{extrapolated} extrapolated from the first workgroups of their launches")
    return f"{facts.title}: {'; '.join(said)}."


def _products(rows: pd.DataFrame) -> list[str]:
    """Whose kernels the matrix products are; where rows differ, of which workloads."""
    if PRODUCTS not in rows.columns:
        return []
    known = rows.dropna(subset=[PRODUCTS])
    found = [(title(str(kind)), own["workload"].unique()) for kind, own in known.groupby(PRODUCTS)]
    return [name + (f" ({', '.join(names)})" if len(found) > 1 else "") for name, names in found]


def repeat(sweep: SweepDescription) -> list[tuple[str, tuple[str, ...]]]:
    """Ways to make the report again: in words, and the commands."""
    report = paths.report(paths.under(sweep.name))
    archive = f"{sweep.name}.tar.zst"
    return [
        (
            "In the project that made it; only what is missing or has changed is made",
            (f"snakemake --cores all {report}",),
        ),
        ("For someone else: pack the study, checked", (f"apuflow archive {sweep.name}",)),
        (
            "There, from the archive: every table and figure again, without a simulation",
            (
                f"apuflow unpack {archive} {sweep.name} && cd {sweep.name} && make env",
                f"rm {report} && .venv/bin/snakemake --cores all {report}",
                f".venv/bin/apuflow archive --verify ../{archive} --against .",
            ),
        ),
    ]
