"""Render a sweep's report: one page that needs nothing but itself."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import jinja2
import pandas as pd
from markupsafe import Markup

from apuflow import __version__
from apuflow.core.engines import engine_facts
from apuflow.core.errors import AnalysisError
from apuflow.core.files import write_files
from apuflow.core.units import format_duration
from apuflow_analysis.figures.axis import Choice, choose, label
from apuflow_analysis.figures.interval import unmeasured
from apuflow_analysis.figures.selection import combine
from apuflow_analysis.metrics.compute import METRICS
from apuflow_analysis.report.answers import answers
from apuflow_analysis.report.data import MANY_ROWS, embed, page_data
from apuflow_analysis.report.describe import SweepDescription, href, load_figures, load_runs, summarise
from apuflow_analysis.report.sections import (
    SuiteFiles,
    has_stand_ins,
    load_samples,
    load_suites,
    measured,
    repeat,
    trust,
)
from apuflow_analysis.tables.columns import INTERVAL, UNMEASURED
from apuflow_analysis.tables.tables import columns

_TEMPLATES = Path(__file__).with_name("templates")
_SCRIPTS = ("format.js", "table.js", "scale.js", "save.js", "chart.js", "page.js")
_MOST_FLAGGED = 200
_UNMEASURED = ("workload", "point", "gpu_cycles", *INTERVAL, "flags")


def render(
    sweep: SweepDescription,
    frames: Mapping[str, pd.DataFrame],
    records: Iterable[str | Path],
    figures: Iterable[str | Path],
    out: str | Path,
    choice: Choice | None = None,
    sampled: Sequence[str | Path] = (),
    suites: Sequence[SuiteFiles] = (),
) -> None:
    """Write a sweep's report.

    Args:
        frames: result tables by the path of their CSV file, to which the page links.
        records: run records, to which the page links; their directories may be given instead.
        figures: SVG files; PNG and CSV beside them are linked.
        out: the page to write; links are relative to its directory.
        choice: what the sweep says of figures, for the chart.
        sampled: tables of a sample: its operations, its totals.
        suites: of each suite its tables of items.

    Raises:
        AnalysisError: no table, or a record or figure cannot be read.
    """
    if not frames:
        raise AnalysisError("a report needs a table", key=sweep.name, remedy="give the sweep a workload")
    try:
        pictures = load_figures(figures, out)
    except OSError as error:
        raise AnalysisError(f"cannot read a figure: {error.strerror}", file=error.filename) from None
    frame = choose(combine(list(frames.values())), choice or Choice())
    runs = load_runs(records, out)
    failed = frame[frame["status"] != "completed"]
    flags = frame["flags"].fillna("").astype(str)
    away = unmeasured(frame)
    flagged = frame[(flags != "") & ~(away & flags.str.startswith(UNMEASURED))]
    script = "\n".join((_TEMPLATES / name).read_text(encoding="utf-8") for name in _SCRIPTS)
    template = _environment().get_template("report.html.j2")
    page = template.render(
        sweep=sweep,
        engines=[engine_facts(name) for name in sorted(set(frame["engine"]))],
        engine_facts=engine_facts,
        summaries=summarise(frame, runs),
        points=len(frame),
        trust=trust(sweep, frame),
        accuracy=sweep.accuracy.splitlines() if measured(frame).any() else [],
        stand_ins=has_stand_ins(frame),
        answers=answers(frame),
        repeat=repeat(sweep),
        version=__version__,
        failed=_rows(failed, ("engine", "workload", "point", "status", "evidence")),
        flagged=_rows(flagged.head(_MOST_FLAGGED), ("engine", "workload", "point", "flags")),
        flagged_count=len(flagged),
        unmeasured=_rows(frame[away].head(_MOST_FLAGGED), _UNMEASURED),
        unmeasured_count=int(away.sum()),
        runs=runs,
        figures=[
            (one, f"data:image/svg+xml;base64,{base64.b64encode(one.svg).decode()}") for one in pictures
        ],
        samples=load_samples(sampled),
        suites=load_suites(suites, out),
        sample_files={Path(file).name: href(file, out) for file in sampled},
        tables=[(Path(path).stem, _siblings(path, out), len(table)) for path, table in frames.items()],
        metrics=METRICS,
        counters=[column for column in columns(frame) if column.kind == "counter"],
        many=len(frame) > MANY_ROWS,
        data=embed(page_data(frame, runs, sweep.together)),
        style=Markup((_TEMPLATES / "report.css").read_text(encoding="utf-8")),
        script=Markup(script),
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    )
    write_files({out: page.encode("utf-8")})


def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["duration"] = format_duration
    environment.filters["whole"] = lambda value: "" if value == "" else f"{value:,.0f}"
    environment.filters["percent"] = lambda share: f"{share:.1%}".replace("%", " %")
    environment.filters["axis"] = lambda name: label(str(name).replace("-", "_"))
    return environment


def _rows(frame: pd.DataFrame, names: tuple[str, ...]) -> list[dict[str, Any]]:
    present = frame.reindex(columns=list(names)).astype(object)
    rows = present.where(present.notna(), "").itertuples(index=False, name=None)
    return [dict(zip(names, row, strict=True)) for row in rows]


def _siblings(path: str | Path, out: str | Path) -> dict[str, str]:
    suffixes = {"CSV": Path(path).suffix, "Parquet": ".parquet", "columns": ".columns.json"}
    files = {name: Path(path).with_suffix(suffix) for name, suffix in suffixes.items()}
    return {name: href(file, out) for name, file in files.items() if name == "CSV" or file.exists()}
