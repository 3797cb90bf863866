"""The interface of apuflow in Python: what ``import apuflow`` offers, for notebooks and scripts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from apuflow import preview
from apuflow.ask import question as asking
from apuflow.configure.loading import load_sweep
from apuflow.configure.point import Point
from apuflow.configure.sweep import Sweep
from apuflow.core import paths, project
from apuflow.plan.points import points as _points
from apuflow.plan.points import sweep_workloads
from apuflow.rocblas.tables import Products
from apuflow_analysis.tables import store

__all__ = ["Sweep", "evaluate", "points", "read_results", "sweep"]


def _root(given: str | Path | None) -> Path:
    """The project: the one that is named, the working directory, else the files that come with apuflow."""
    if given is not None:
        return Path(given)
    return Path() if Path("configs/workloads").is_dir() else project.place("configs").parent


def evaluate(
    workload: str | Sequence[str],
    options: Mapping[str, Any] | None = None,
    layer: Mapping[str, Any] | None = None,
    *,
    machine: str | None = None,
    release: str = preview.RELEASE,
    products: Products | None = None,
    root: str | Path | None = None,
) -> pd.DataFrame:
    """What the preview says of a workload: counters, metrics, interval of the cycles, a row per point.

    Args:
        workload: name or pattern of ``configs/workloads``, or several.
        options: ``apu_se.py`` options as on the command line without dashes; a list varies the option.
        layer: layer keys; a list varies the key. All lists are combined.
        machine, release: files of ``configs/machines`` and ``configs/gem5``.
        products: whose kernels compute matrix products; by default as the project's site has it, else
            rocBLAS' own. Column ``products`` says which.
        root: the project; by default the working directory, or the files that come with apuflow.

    Raises:
        ConfigError: a name, option or layer is wrong, or the preview does not model it.
    """
    content: dict[str, Any] = {
        "description": "apuflow.evaluate",
        "engines": ["preview"],
        "release": release,
        "workloads": [workload] if isinstance(workload, str) else list(workload),
    }
    places = {"machine": machine, "products": products}
    content |= {place: value for place, value in places.items() if value is not None}
    for prefix, given in (("", options or {}), ("layer.", layer or {})):
        for key, value in given.items():
            several = isinstance(value, (list, tuple, range))
            asking.put(content, prefix + key, list(value) if several else value, varied=several)
    where = _root(root)
    return asking.answer(asking.question(content, where), where)


def sweep(name: str, root: str | Path | None = None) -> Sweep:
    """The sweep ``configs/sweeps/<name>.yaml``.

    Raises:
        ConfigError: there is none, or it has a mistake.
    """
    return load_sweep(name, _root(root))


def points(of: Sweep | str, workload: str | None = None, root: str | Path | None = None) -> list[Point]:
    """The points of a sweep, or of one of its workloads.

    Raises:
        ConfigError: a point cannot run; every reason is listed.
    """
    where = _root(root)
    loaded = load_sweep(of, where) if isinstance(of, str) else of
    names = sweep_workloads(loaded, where) if workload is None else [workload]
    return [point for name in names for point in _points(loaded, name, where)]


def read_results(name: str, root: str | Path = ".") -> pd.DataFrame:
    """The result tables of a sweep that the workflow has made, as one.

    Raises:
        ConfigError, AnalysisError: no such sweep, or a table is missing or damaged.
    """
    where = Path(root)
    under = paths.under(name)
    workloads = sweep_workloads(load_sweep(name, where), where)
    tables = [store.read(where / paths.table(under, each, "parquet"), whole=True) for each in workloads]
    return pd.concat(tables, ignore_index=True)
