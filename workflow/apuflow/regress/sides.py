"""One side of a comparison: results of points, and what its gem5 does with each instruction."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

from apuflow.answers import answer
from apuflow.answers.prove import row_hashes
from apuflow.core import paths
from apuflow.core.engines import EngineName, is_batch
from apuflow.core.errors import AnalysisError, ConfigError
from apuflow.core.record import RunRecord, Status, read
from apuflow.forms.table import Table, measured
from apuflow.forms.table import read as read_table
from apuflow_analysis.counters.table import BY_NAME
from apuflow_analysis.tables.records import Row, read_record

_UNITS: Final = "num-compute-units"
_OF_THE_GEM5: Final = ("release", "machine", "gfx-version")
"""Axes in which the two sides may differ."""


class Key(NamedTuple):
    """What is the same point on both sides.

    Attributes:
        layer: hash of its layer; empty for programs.
        units: number of compute units.
        axes: other axes, as text.
    """

    workload: str
    layer: str
    units: str
    axes: str

    def __str__(self) -> str:
        units = f"{self.units} compute units" if self.units else ""
        return ", ".join(filter(None, (self.workload, units, self.axes)))


@dataclass(frozen=True)
class Result:
    """How a point ended and what it counted.

    Attributes:
        status: a status of run records.
        evidence: why it did not complete.
        counters: by name; without those of the host.
        rows: hash of the statistics of each part of the machine.
        launcher: beginning of the hash of the program that started the kernels; empty: unknown.
    """

    status: str
    evidence: str = ""
    counters: Mapping[str, float] = field(default_factory=dict)
    rows: Mapping[str, str] = field(default_factory=dict)
    launcher: str = ""


@dataclass(frozen=True)
class Side:
    """One side.

    Attributes:
        name: as the user named it.
        about: lines on the gem5: version, commit, patches.
        tables: tables of instructions by build.
        place: the directory with its runs, if it has one.
    """

    name: str
    about: tuple[str, ...]
    results: Mapping[Key, Result]
    tables: Mapping[str, Table] = field(default_factory=dict)
    place: Path | None = None


def of_release(release: str, engine: EngineName, root: Path) -> Side:
    """What is recorded of a release: its known answers and its table of instructions.

    Raises:
        ConfigError: nothing is recorded of it.
    """
    file = answer.recorded(engine, root).get(release)
    if file is None:
        raise answer.none_recorded(engine, release, root)
    known = answer.read(file)
    results = {_key_of_answer(each): _result_of_answer(each) for each in known}
    facts = [known[0].fact(name) for name in ("gem5_version", "gem5_commit", "gem5_patches")]
    tables = {build: read_table(file) for (name, build), file in measured(root).items() if name == release}
    return Side(release, (_about(facts),), results, tables)


def of_directory(directory: Path) -> Side:
    """The runs of gem5 below a directory: a project, an unpacked archive, a directory of runs.

    Raises:
        ConfigError: there is no run of gem5.
        AnalysisError: a record or statistics cannot be read, or two runs are of one point.
    """
    results: dict[Key, Result] = {}
    places: dict[Key, Path] = {}
    about: dict[str, None] = {}
    for file in sorted(directory.rglob("run.json")):
        inside = file.relative_to(directory).parts
        if {"build", "attempts", paths.SNAKEMAKE} & set(inside):
            continue
        record = read(file)
        if not isinstance(record, RunRecord) or is_batch(record.engine):
            continue
        key = _key_of_record(record)
        if key in results:
            remedy = f"the other one is {places[key]}; give a directory with the runs of one gem5"
            raise AnalysisError("two runs are of the same point", file=file, value=str(key), remedy=remedy)
        results[key], places[key] = _result_of_record(record, file), file
        made = record.provenance
        about[_about([made.gem5_version or "", made.gem5_commit or "", made.gem5_patches or ""])] = None
    if not results:
        remedy = "name a gem5 binary, a release, or a directory with runs of engine gem5 or gem5-kernels"
        raise ConfigError("no run of gem5 is here", file=directory, remedy=remedy)
    return Side(str(directory), tuple(about), results, _own_tables(directory), directory)


def _own_tables(directory: Path) -> dict[str, Table]:
    """Tables of instructions that a project measured itself, if of one release."""
    files = sorted((directory / "configs/conformance").glob("*-*.csv"))
    files = [file for file in files if not file.stem.endswith("-changes")]
    if len({file.stem.rpartition("-")[0] for file in files}) != 1:
        return {}
    return {file.stem.rpartition("-")[2]: read_table(file) for file in files}


def _about(facts: list[str]) -> str:
    version, commit, patches = facts
    told = [f"version {version}" if version else "", f"commit {commit}" if commit else ""]
    return ", ".join(filter(None, (*told, f"patches {patches}" if patches else ""))) or "unknown gem5"


def _key_of_answer(each: answer.Answer) -> Key:
    return Key(each.workload, each.fact("layer"), each.values.get(("option", _UNITS), ""), "")


def _key_of_record(record: RunRecord) -> Key:
    text = record.config
    layer = hashlib.sha256(text.encode()).hexdigest()[:16] if text else ""
    units = record.options.get(_UNITS)
    others = {
        name: value
        for name, value in record.axes.items()
        if name not in (*_OF_THE_GEM5, _UNITS) and (not layer or name in record.options)
    }
    axes = ", ".join(f"{name}={value}" for name, value in sorted(others.items()))
    return Key(record.workload, layer, "" if units is None else str(units), axes)


def _result_of_answer(each: answer.Answer) -> Result:
    counters = {name: float(text) for (kind, name), text in each.values.items() if kind == "counter"}
    rows = {name: text for (kind, name), text in each.values.items() if kind == "rows"}
    return Result(Status.COMPLETED, "", counters, rows, each.fact("launcher"))


def _result_of_record(record: RunRecord, file: Path) -> Result:
    if record.status is not Status.COMPLETED:
        return Result(record.status, record.evidence)
    row = read_record(file)
    assert isinstance(row, Row)
    simulated = {
        name: value
        for name, value in row.counters.items()
        if not BY_NAME[name].stats.startswith("host") and value == value
    }
    rows = row_hashes(record.statistics_files(file.parent))
    launcher = (record.provenance.launcher_sha256 or "")[: answer.DIGITS]
    return Result(record.status, "", simulated, rows, launcher)
