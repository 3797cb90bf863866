"""The texts of a report: what the sweep describes, what ran, and how it ended."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import pandas as pd

from apuflow.core.errors import AnalysisError
from apuflow.core.inputs import content_part, inputs_of
from apuflow.core.record import BatchRecord, RunRecord, read
from apuflow_analysis.figures.registry import FIGURES
from apuflow_analysis.tables.columns import axis_column
from apuflow_analysis.tables.records import COMPLETED

_PROVENANCE = {
    "gem5_commit": "gem5 commit",
    "gem5_binary_sha256": "gem5 binary (SHA-256)",
    "image_digest": "container image",
    "dnnmark_commit": "DNNMark commit",
    "kernel_db_sha256": "kernel database (SHA-256)",
}
_MOST_VALUES = 6


@dataclass(frozen=True)
class SweepDescription:
    """What a sweep asks for.

    Attributes:
        axes: what varies: name to values; lists that advance together are joined with `` + ``. What holds for
            some workloads alone begins with their pattern: ``conv_*: layer.n``.
        fixed: what is set: name to value, likewise.
        on_failure: ``strict`` or ``record``.
        sources: configuration files as they are: path to text.
        accuracy: the preview's measured error, the first line in short; empty where the preview has no part.
        together: columns that advance together.
    """

    name: str
    description: str = ""
    engines: tuple[str, ...] = ()
    workloads: tuple[str, ...] = ()
    axes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    fixed: Mapping[str, str] = field(default_factory=dict)
    on_failure: str = "strict"
    sources: Mapping[str, str] = field(default_factory=dict)
    accuracy: str = ""
    together: tuple[tuple[str, ...], ...] = ()

    @classmethod
    def of(
        cls,
        sweep: Mapping[str, Any],
        workloads: Sequence[str],
        sources: Mapping[str, str] | None = None,
        accuracy: str = "",
        together: Sequence[Sequence[str]] = (),
    ) -> SweepDescription:
        """From the content of a sweep file with its defaults filled in, and the workloads of its patterns.

        Args:
            sweep: keys ``name description engines release machine axes layers zip options layer
                per_workload on_failure workgroups inputs products``.
        """
        fixed = {name: str(sweep[name]) for name in ("release", "machine", "products") if sweep.get(name)}
        fixed |= {f"workgroups.{name}": str(value) for name, value in (sweep.get("workgroups") or {}).items()}
        fixed |= content_part(inputs_of(sweep))
        axes: dict[str, tuple[str, ...]] = {}
        for pattern, part in {"": sweep, **(sweep.get("per_workload") or {})}.items():
            of = f"{pattern}: " if pattern else ""
            axes |= {of + name: values for name, values in _varied(part).items()}
            fixed |= {f"{of}{name}": str(value) for name, value in (part.get("options") or {}).items()}
            layer = part.get("layer") or {}
            fixed |= {f"{of}layer.{name}": str(value) for name, value in layer.items()}
        return cls(
            str(sweep["name"]),
            str(sweep.get("description") or ""),
            _texts(sweep.get("engines") or ()),
            tuple(workloads),
            axes,
            fixed,
            str(sweep.get("on_failure") or "strict"),
            dict(sources or {}),
            accuracy,
            tuple(tuple(map(axis_column, group)) for group in together),
        )


def _varied(part: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    axes = {str(name): _texts(values) for name, values in (part.get("axes") or {}).items()}
    if lines := part.get("layers"):
        names = " + ".join(f"layer.{name}" for name in lines[0])
        axes[names] = tuple(" + ".join(_texts(line.values())) for line in lines)
    for group in part.get("zip") or ():
        rows = zip(*group.values(), strict=True)
        axes[" + ".join(group)] = tuple(" + ".join(_texts(row)) for row in rows)
    return axes


class ReportFigure(NamedTuple):
    """A drawn figure: its image and where its files are, relative to the report."""

    name: str
    title: str
    caption: str
    svg: bytes
    files: Mapping[str, str]


class Run(NamedTuple):
    """One run record: who it is, how it ended, its files relative to the report, what it was made from."""

    engine: str
    workload: str
    point: str
    status: str
    evidence: str
    started: str
    wall_seconds: float | None
    files: Mapping[str, str]
    provenance: Mapping[str, str]

    @property
    def key(self) -> tuple[str, str, str]:
        """Engine, workload and point."""
        return self.engine, self.workload, self.point

    @property
    def failed(self) -> bool:
        """Whether it ended without having completed."""
        return self.status not in (COMPLETED, "")


class EngineSummary(NamedTuple):
    """All runs of one engine together."""

    engine: str
    points: int
    completed: int
    runs: int
    seconds: float
    provenance: Mapping[str, tuple[str, ...]]


def load_figures(paths: Iterable[str | Path], out: str | Path) -> tuple[ReportFigure, ...]:
    """Figures from their SVG files; title and caption from the registry, by name.

    Raises:
        OSError: a file is missing.
    """
    figures = []
    for path in map(Path, paths):
        spec = FIGURES.get(path.stem)
        title, caption = (spec.title, spec.caption) if spec else (path.stem, "")
        beside = {suffix: path.with_suffix(f".{suffix}") for suffix in ("svg", "png", "csv")}
        files = {suffix: href(file, out) for suffix, file in beside.items() if file.exists()}
        figures.append(ReportFigure(path.stem, title, caption, path.read_bytes(), files))
    order = {name: index for index, name in enumerate(FIGURES)}
    return tuple(sorted(figures, key=lambda figure: (order.get(figure.name, len(order)), figure.name)))


def load_runs(records: Iterable[str | Path], out: str | Path) -> tuple[Run, ...]:
    """Run records (``run.json`` or its directory) as the report shows them.

    Raises:
        AnalysisError: a record cannot be read.
    """
    runs = []
    for path in map(Path, records):
        file = path if path.name.endswith(".json") else path / "run.json"
        record = read(file)
        files = {"record": href(file, out), "directory": href(file.parent, out) + "/"}
        point, seconds = "", None
        if isinstance(record, RunRecord):
            point, seconds = record.point, record.wall_seconds
            present = [one for one in record.statistics_files(file.parent) if one.exists()]
            if present:
                files["statistics"] = href(present[0], out)
        ended = record.status.value, record.evidence, record.started
        runs.append(Run(record.engine, record.workload, point, *ended, seconds, files, _made_from(record)))
    return tuple(sorted(runs, key=attrgetter("key")))


def _made_from(record: RunRecord | BatchRecord) -> dict[str, str]:
    """What a report says that a run was made from, in its words; only what is known."""
    known = record.provenance.model_dump()
    said = {f"{record.engine} version": record.engine_version}
    said |= {text: known.get(name) for name, text in _PROVENANCE.items()}
    return {text: value for text, value in said.items() if value}


def summarise(frame: pd.DataFrame, runs: Sequence[Run]) -> tuple[EngineSummary, ...]:
    """Per engine: points, those completed, time spent, and every distinct version that took part."""
    summaries = []
    for engine in sorted(set(map(str, frame["engine"])) | {run.engine for run in runs}):
        rows = frame[frame["engine"] == engine]
        own = [run for run in runs if run.engine == engine]
        provenance = {}
        for text in (f"{engine} version", *_PROVENANCE.values()):
            values = list(dict.fromkeys(run.provenance[text] for run in own if text in run.provenance))
            if len(values) > _MOST_VALUES:
                values = [*values[:_MOST_VALUES], f"and {len(values) - _MOST_VALUES} more"]
            if values:
                provenance[text] = tuple(values)
        done = int((rows["status"] == COMPLETED).sum())
        seconds = sum(run.wall_seconds or 0.0 for run in own)
        summaries.append(EngineSummary(engine, len(rows), done, len(own), seconds, provenance))
    return tuple(summaries)


def read_csv(file: str | Path, what: str) -> pd.DataFrame:
    """A table of results that the report shows; only empty cells are missing values.

    Raises:
        AnalysisError: it cannot be read.
    """
    try:
        return pd.read_csv(file, keep_default_na=False, na_values=[""])
    except (OSError, ValueError) as error:
        remedy = "remove it and start the workflow again"
        raise AnalysisError(f"cannot read the {what}", file=file, remedy=remedy) from error


def href(path: str | Path, out: str | Path) -> str:
    """A link from the report ``out`` to a file, as a relative and quoted path."""
    return quote(Path(os.path.relpath(path, Path(out).parent)).as_posix(), safe="/")


def _texts(values: Iterable[object]) -> tuple[str, ...]:
    return tuple(map(str, values))
