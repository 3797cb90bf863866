"""Whose kernels the matrix products of points and of a table are, and why, in words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import pandas as pd

from apuflow.configure import Site, Sweep, load_site
from apuflow.configure.point import Point
from apuflow.configure.products import in_preview
from apuflow.core.errors import ApuflowError
from apuflow.core.products import STAND_IN, STAND_IN_NOTE, joined, title
from apuflow.engines import get_engine
from apuflow_analysis.tables.columns import PRODUCTS


def of_points(points: Iterable[Point], site: Site) -> tuple[str, ...]:
    """A line for each kind of kernels and each reason, with the engines that run it."""
    found: dict[tuple[str, str], dict[str, None]] = {}
    for point in points:
        if point.products:
            for reason in _reasons(point, site):
                found.setdefault((point.products, reason), {})[point.engine] = None
    return tuple(
        f"{title(kind)} ({', '.join(engines)})" + (f": {reason}" if reason else "")
        for (kind, reason), engines in found.items()
    )


def _reasons(point: Point, site: Site) -> Iterator[str]:
    """Why the stand-in runs, each reason once; "" where it does not."""
    decision = get_engine(point.engine).products(site)
    if decision is None or STAND_IN not in point.products:
        yield ""
    elif (reason := decision.on(point.gfx).reason) or decision.products == "stand-in":
        yield reason
    else:
        try:
            notes = (one.note for one in point.launches() if one.note.startswith(STAND_IN_NOTE))
            yield from dict.fromkeys(note.partition("; ")[2] for note in notes)
        except ApuflowError:
            yield ""


def of_preview(frame: pd.DataFrame, sweep: Sweep, root: Path) -> str:
    """One line on the preview's rows of a sweep; "" where none has a matrix product."""
    kinds = joined(frame[PRODUCTS])
    if not kinds:
        return ""
    if frame[PRODUCTS].nunique() > 1:
        return f"{title(kinds)}: see column {PRODUCTS}"
    decision = in_preview(load_site(root).with_products(sweep.products))
    reasons = dict.fromkeys(decision.on(str(gfx)).reason for gfx in frame["gfx"].dropna().unique())
    told = "; ".join(filter(None, reasons)) if STAND_IN in kinds else ""
    return title(kinds) + (f": {told}" if told else "")
