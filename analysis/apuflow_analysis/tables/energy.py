"""The energy of each row of a table, part by part and file by file; the files can be the user's own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from apuflow.core.errors import AnalysisError
from apuflow_analysis.counters.table import NAMES as COUNTER_NAMES
from apuflow_analysis.energy.coefficients import PARTS, Source, load
from apuflow_analysis.energy.formulas import GEM5, JOULE, from_gem5
from apuflow_analysis.metrics import compute

WHOLE = "all"
_ROW = ("engine", "workload", "point", "dispatch", "kernel")
_TAKEN = (*_ROW, "part", "low", "high", "unit", GEM5)


def sources_of(files: Sequence[Path]) -> tuple[Source, ...]:
    """Files of coefficients, read and checked, the names in their expressions too.

    Raises:
        AnalysisError: a file is wrong, or its name is that of another or of a column.
    """
    known = {*COUNTER_NAMES, *(one.name for one in compute.QUANTITIES), *compute.SIZES}
    found: dict[str, Source] = {}
    for file in files:
        source = load(file)
        if source.name in (*found, *_TAKEN):
            remedy = "rename the file: its name is its column"
            raise AnalysisError("the name of the file is taken", file=file, value=source.name, remedy=remedy)
        for k, one in enumerate(source.coefficients):
            for key, text in (("count", one.count), ("without", one.without)):
                _check_names(text, known, file, f"coefficients[{k}].{key}")
        found[source.name] = source
    return tuple(found.values())


def _check_names(text: str | None, known: set[str], file: Path, key: str) -> None:
    try:
        unknown = sorted(set(compute.names_in(text)) - known) if text is not None else []
    except SyntaxError:
        remedy = "write it as `apuflow list metrics NAME` shows formulas"
        raise AnalysisError("not an expression", file=file, key=key, value=text, remedy=remedy) from None
    if unknown:
        remedy = "counters and quantities: `apuflow list metrics`"
        message = f"no counter or quantity is called {', '.join(unknown)}"
        raise AnalysisError(message, file=file, key=key, value=text, remedy=remedy)


def by_part(frame: pd.DataFrame, sources: Sequence[Source]) -> pd.DataFrame:
    """Joules of each part of each row.

    Args:
        frame: a result table or a table of kernels, with its counters.
        sources: the files; their names are columns.

    Returns:
        The columns that tell rows apart, ``part`` (the last is ``all``: those that a file covers, and the
        DRAM), ``low``, ``high``, ``unit``, a column per file, and ``gem5`` for its own DRAM energy, which
        takes the place of the files' where it is known. NaN where a file does not cover a part or a counter
        is missing.
    """
    columns = compute.Columns({str(name): values for name, values in frame.items()}, len(frame))
    named = [name for name in _ROW if name in frame.columns]
    parts = {
        part: frame[named].assign(part=part, **_of_part(part, sources, columns, len(frame))) for part in PARTS
    }
    whole = frame[named].assign(part=WHOLE)
    covered = [
        values
        for part, values in parts.items()
        if values[GEM5].notna().any() or any(source.formula(part) for source in sources)
    ]
    for end in ("low", "high"):
        whole[end] = np.sum([values[end].to_numpy() for values in covered], axis=0)
    order = [*named, "part", "low", "high", "unit", *(source.name for source in sources), GEM5]
    table = pd.concat([*parts.values(), whole]).sort_index(kind="stable").reset_index(drop=True)
    return table.assign(unit=JOULE).reindex(columns=order)


def _of_part(
    part: str, sources: Sequence[Source], columns: compute.Columns, rows: int
) -> dict[str, compute.Array]:
    """The values of a part by column; both ends are of the files unless gem5 knows."""
    unknown = np.full(rows, np.nan)
    values = {source.name: _joules(source.formula(part), columns, unknown) for source in sources}
    low, high = unknown, unknown
    for value in values.values():
        low, high = np.fmin(low, value), np.fmax(high, value)
    own = _joules(from_gem5(part), columns, unknown)
    ends = {"low": np.where(np.isnan(own), low, own), "high": np.where(np.isnan(own), high, own)}
    return {**values, **ends, GEM5: own}


def _joules(formula: str | None, columns: compute.Columns, unknown: compute.Array) -> compute.Array:
    if formula is None:
        return unknown
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(1e-12 * columns.evaluate(formula)) + np.zeros(len(unknown))
