"""The artifact appendix of a study: what a committee needs to check its claims, in Markdown.

The order of sections is that of the artifact appendices of ACM's conferences
(https://github.com/ctuning/artifact-evaluation).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Final

import pandas as pd

from apuflow.configure import Sweep
from apuflow.core import paths
from apuflow.core.markdown import head, row
from apuflow.core.record import BatchRecord, RunRecord, Status
from apuflow.core.units import format_duration
from apuflow.results.authorship import CITATION, Authorship, title
from apuflow_analysis.report.answers import answers
from apuflow_analysis.tables.store import read

MOST_ROWS: Final = 12
"""Rows of a claim's table; the table's file has all."""
_EXPECTED: Final = ("gpu_cycles", "ipc", "occupancy")
_BADGES: Final = (
    (
        "ACM",
        "Artifacts Available",
        "Put the archive where it stays (Zenodo reads `.zenodo.json`); add the DOI.",
    ),
    (
        "ACM",
        "Artifacts Evaluated: Functional",
        "ready: documented, complete, exercised by the commands below",
    ),
    (
        "ACM",
        "Artifacts Evaluated: Reusable",
        "ready: `docs/` and `configs/` say how to change workloads and machines",
    ),
    ("ACM", "Results Reproduced", "ready: tier 1 for the tables, tiers 2 and 3 for the runs"),
    ("IEEE", "Open Research Objects (ORO)", "As Artifacts Available: needs the DOI and a licence."),
    ("IEEE", "Research Objects Reviewed (ROR)", "ready: as Functional and Reusable"),
    ("IEEE", "Results Reproduced (ROR-R)", "ready: as Results Reproduced"),
)
"""ACM's badges, version 1.1 (acm.org/publications/policies/artifact-review-and-badging-current), and IEEE's
(NISO RP-31-2021). Results Replicated is not for the authors' own artifact."""


def appendix(
    sweep: Sweep,
    records: Mapping[str, RunRecord | BatchRecord],
    tables: Mapping[str, Path],
    given: Authorship,
    size: int,
) -> str:
    """The appendix.

    Args:
        sweep: what was studied.
        records: the records of its runs, at least one.
        tables: its result tables, by their paths in the project.
        given: authors, title and licence.
        size: bytes of the unpacked archive.
    """
    sections = (
        ("Abstract", [sweep.description]),
        ("Badges", _badges(given)),
        ("Hardware and software", _requirements(list(records.values()), size)),
        ("Time", _times(sweep, list(records.values()))),
        ("Installation", _installation(sweep)),
        ("Claims", _claims(tables)),
    )
    lines = [f"# Artifact appendix: {title(sweep, given)}", ""]
    for name, content in sections:
        lines += [f"## {name}", "", *content, ""]
    return "\n".join(lines).rstrip() + "\n"


def _badges(given: Authorship) -> Iterator[str]:
    yield from head(("", "badge", "what the archive has, or what is left to do"))
    for society, badge, state in _BADGES:
        done = "x" if state.startswith("ready") else " "
        yield f"| [{done}] | {society}: {badge} | {state.removeprefix('ready: ')} |"
    lacking = [name for name in ("authors", "license", "doi") if not getattr(given, name)]
    if lacking:
        yield ""
        yield f"`{CITATION}` lacks {', '.join(lacking)}: add it, then pack the study again."


def _requirements(records: list[RunRecord | BatchRecord], size: int) -> Iterator[str]:
    yield f"- Disk: {_bytes(size)} for the unpacked archive, about 2 GB for the Python environment."
    yield "- Software: Linux, Python 3.11 or newer, make, git; `make env` installs the rest, pinned."
    simulated = [record for record in records if isinstance(record, RunRecord)]
    peaks = [record.peak_memory_bytes for record in simulated if record.peak_memory_bytes]
    if peaks:
        yield f"- Memory: {_bytes(max(peaks))} for the largest run of gem5."
    tools = {(record.release, record.provenance.gem5_commit or "") for record in simulated}
    for release, commit in sorted(tools, key=str):
        yield f"- gem5 {release}{', commit ' + commit if commit else ''}."
    images = {record.provenance.image_digest for record in simulated if record.provenance.image_digest}
    for digest in sorted(images):
        yield f"- Container image {digest}."
    for host in sorted({_host(record.host) for record in records} - {""}):
        yield f"- The runs were made on: {host}."
    if not simulated:
        yield "- No gem5 and no GPU: every run is of the preview, a timing model in Python."


def _host(host: Mapping[str, object]) -> str:
    return ", ".join(f"{key} {value}" for key, value in host.items() if value not in (None, ""))


def _times(sweep: Sweep, records: list[RunRecord | BatchRecord]) -> Iterator[str]:
    """A row per tier; the times of runs are those of the recorded hosts."""
    under = f"{paths.RESULTS}/{paths.under(sweep.name)}"
    yield from head(("tier", "what runs again", "points", "time on the recorded hosts", "longest point"))
    again = f"every table and figure below `{under}`, from the archive's runs"
    yield f"| 1 | {again} | | minutes, not recorded | |"
    batches = [record for record in records if isinstance(record, BatchRecord)]
    if batches:
        seconds = [_between(record.started, record.ended) for record in batches]
        points = sum(record.points for record in batches)
        yield f"| 2 | the preview | {points} | {format_duration(sum(seconds))} | |"
    for engine in ("gem5-kernels", "gem5"):
        own = [one for one in records if isinstance(one, RunRecord) and one.engine == engine]
        if own:
            walls = [record.wall_seconds for record in own]
            whole, longest = format_duration(sum(walls)), format_duration(max(walls))
            yield f"| 3 | {engine} | {len(own)} | {whole} of one process | {longest} |"
    failed = [record for record in records if record.status is not Status.COMPLETED]
    if failed:
        yield ""
        yield f"{len(failed)} of the {len(records)} runs did not complete; the report lists them."


def _installation(sweep: Sweep) -> Iterator[str]:
    report, under = paths.report(paths.under(sweep.name)), paths.under(sweep.name)
    removed = f"{paths.RESULTS}/{under}".rstrip("/")
    yield "Tier 1 needs no gem5. The last command compares each table with the archive's, byte for byte:"
    yield ""
    yield "```"
    yield f"tar --zstd -xf {sweep.name}.tar.zst && cd {sweep.name} && make env"
    yield f"rm -r {removed}"
    yield f".venv/bin/snakemake --cores all {report}"
    yield f".venv/bin/apuflow archive check ../{sweep.name}.tar.zst --against ."
    yield "```"
    yield ""
    yield "Tiers 2 and 3 run the points again. gem5 and the preview are deterministic: every number is equal."
    yield ""
    yield "```"
    yield f"rm -rf {paths.RUNS} {removed}"
    yield ".venv/bin/apuflow doctor                    # what this machine lacks for gem5"
    yield f".venv/bin/snakemake --cores all {report}"
    yield "```"


def _claims(tables: Mapping[str, Path]) -> Iterator[str]:
    number = 0
    for place, file in tables.items():
        frame = read(file)
        for engine, own in frame.groupby("engine", sort=True):
            number += 1
            yield f"### Claim {number}: {place.rpartition('/')[2].partition('.')[0]} on {engine}"
            yield ""
            for label, sentence in answers(own):
                yield f"- {label}: {sentence}"
            yield f"- Command: `.venv/bin/snakemake --cores all {place}`"
            yield f"- Expected in `{place}`, equal in every digit:"
            yield ""
            yield from _expected(own)
            yield ""


def _expected(frame: pd.DataFrame) -> Iterator[str]:
    """Rows of a table: what varies, and the values to find."""
    axes = [name for name in frame.attrs.get("axes", ()) if name in frame.columns]
    axes = axes or [name for name in ("workload", "num_compute_units") if name in frame.columns]
    names = [*axes, "status", *(name for name in _EXPECTED if name in frame.columns)]
    yield from head(names)
    for cells in frame[names].head(MOST_ROWS).itertuples(index=False):
        yield row(map(_cell, cells))
    if len(frame) > MOST_ROWS:
        yield ""
        yield f"The first {MOST_ROWS} of {len(frame)} rows."


def _cell(value: object) -> str:
    if isinstance(value, float):
        return "" if value != value else f"{value:.0f}" if value.is_integer() else f"{value:.4g}"
    return "" if value is None or pd.isna(value) else str(value)  # type: ignore[call-overload]


def _between(started: str, ended: str) -> float:
    return (datetime.fromisoformat(ended) - datetime.fromisoformat(started)).total_seconds()


def _bytes(size: float) -> str:
    for unit in ("B", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"
