"""The interface of apuflow in Python: what ``import apuflow`` offers, for notebooks and scripts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from apuflow import preview
from apuflow.ask import question as asking
from apuflow.ask.assumed import assumed, one_image
from apuflow.ask.behind import behind
from apuflow.ask.cheapest import objectives_of, sentence, share_of
from apuflow.ask.search import search as searched
from apuflow.configure.loading import load_sweep
from apuflow.configure.point import Point
from apuflow.configure.sweep import Sweep
from apuflow.core import paths, project
from apuflow.plan.points import points as _points
from apuflow.plan.points import sweep_workloads
from apuflow.rocblas.tables import Products
from apuflow_analysis.tables import store

__all__ = ["Sweep", "evaluate", "points", "read_results", "search", "sweep"]


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
        workload: name or pattern of ``configs/workloads`` or ``configs/suites``, or several: layers,
            networks, suites, kernels of your own.
        options: ``apu_se.py`` options as on the command line without dashes; a list varies the option.
        layer: layer keys; a list varies the key. All lists are combined. A batch is one image without ``n``.
        machine, release: files of ``configs/machines`` and ``configs/gem5``.
        products: whose kernels compute matrix products; by default as the project's site has it, else
            rocBLAS' own. Column ``products`` says which.
        root: the project; by default the working directory, or the files that come with apuflow.

    Returns:
        The table. ``attrs["assumed"]`` says what was taken for what is left open, ``attrs["notes"]`` why an
        interval is a guess and what the total of a suite lacks.

    Raises:
        ConfigError: a name, option or layer is wrong, or the preview does not model it.
    """
    where = _root(root)
    asked, given = _asked("evaluate", workload, options, layer, machine, release, products, where)
    answer = asking.answered(asked, where)
    frame = answer.frame
    frame.attrs["assumed"] = assumed(asked, given, where, units=_units(frame))
    frame.attrs["notes"] = tuple(behind(answer))
    return frame


def search(
    workload: str | Sequence[str],
    options: Mapping[str, Any] | None = None,
    layer: Mapping[str, Any] | None = None,
    *,
    minimise: Sequence[str] = (),
    maximise: Sequence[str] = (),
    cost: Sequence[str] = (),
    within: float | None = None,
    where: Sequence[str] = (),
    most: int = 20_000,
    machine: str | None = None,
    release: str = preview.RELEASE,
    products: Products | None = None,
    root: str | Path | None = None,
) -> pd.DataFrame:
    """The best machines for a workload, by the preview: a row for each, the best first.

    Args:
        workload, options, layer, machine, release, products, root: of ``evaluate``; the lists span the space.
        minimise, maximise: expressions over columns (``"gpu_time"``, ``"dram_bytes_read / 1e6"``); without
            any, the GPU's cycles.
        cost: expressions over options: what a machine costs.
        within: 0.1: the cheapest machine first that misses the first objective's best by 10 % at most.
        where: constraints, ``"num_compute_units <= 16"``.
        most: points to compute at most per workload; of a suite, operations.

    Returns:
        The table (``apuflow.ask.search.Found``). ``attrs["answer"]`` has it in sentences, the other
        ``attrs`` are those of ``evaluate``.

    Raises:
        ConfigError: as ``evaluate``; nothing varies, an expression is wrong, or no machine is left.
    """
    place = _root(root)
    asked, given = _asked("search", workload, options, layer, machine, release, products, place)
    objectives = objectives_of(asked, minimise, maximise, cost)
    share = None if within is None else share_of(str(within), objectives)
    found = searched(asked, objectives, where, most, place, share)
    frame = found.rows.copy()
    frame.attrs["answer"] = tuple(sentence(found))
    frame.attrs["assumed"] = assumed(asked, given, place, units=_units(found.answer.frame))
    frame.attrs["notes"] = tuple(behind(found.answer, found.iterations_of(0)))
    return frame


def _asked(
    verb: str,
    workload: str | Sequence[str],
    options: Mapping[str, Any] | None,
    layer: Mapping[str, Any] | None,
    machine: str | None,
    release: str,
    products: Products | None,
    root: Path,
) -> tuple[Sweep, set[str]]:
    """The sweep that asks this, and the keys that the question sets."""
    names = [workload] if isinstance(workload, str) else list(workload)
    content: dict[str, Any] = {
        "description": f"apuflow.{verb}",
        "engines": ["preview"],
        "release": release,
        **asking.named(names, root),
    }
    places = {"machine": machine, "products": products}
    content |= {place: value for place, value in places.items() if value is not None}
    for prefix, given in (("", options or {}), ("layer.", layer or {})):
        for key, value in given.items():
            several = isinstance(value, (list, tuple, range))
            asking.put(content, prefix + key, list(value) if several else value, varied=several)
    keys = {*(options or {}), *(layer or {}), *(["machine"] if machine else [])}
    return asking.question(one_image(content, root), root), keys


def _units(frame: pd.DataFrame) -> int | None:
    """Compute units of a table's machines, where all have as many."""
    units = frame["num_compute_units"].dropna().unique()
    return int(units[0]) if len(units) == 1 else None


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
