"""Which files make a study that another machine can evaluate again without a simulation."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from apuflow import __version__
from apuflow.configure import Sweep, load_site, load_workload
from apuflow.configure.combinations import releases
from apuflow.core import paths
from apuflow.core.errors import ConfigError, EngineError
from apuflow.core.git import changes_of, commit_of
from apuflow.core.project import files_below, files_of
from apuflow.core.record import BatchRecord, RunRecord
from apuflow.core.record import read as read_record
from apuflow.plan.campaign import Campaign
from apuflow.prepare.requests import supplied
from apuflow.prepare.tools import Toolset
from apuflow.results import appendix, crate
from apuflow.results.authorship import CITATION, Authorship, authorship, zenodo

CODE = ("analysis", "workflow")
"""What a project made by ``apuflow init`` takes from the installed package; a checkout has it itself."""

PROJECT = (
    "Snakefile",
    "Makefile",
    "README.md",
    "LICENSE",
    "hatch_build.py",
    "pyproject.toml",
    "requirements.lock",
    "requirements-dev.lock",
    "requirements-slurm.lock",
    "configs",
    "data",
    "docs",
    "profiles",
    *CODE,
)
"""The project's own files that evaluation needs: workflow, configuration, what it is installed from."""

LARGEST = 64 << 20
"""Bytes above which a file of a run is left out unless its record names it."""

_NOT_OF_A_RUN = {"home", "fs", ".lock", "progress.json"}

README = """\
{name}: an archive of a study made with apuflow {version}

It holds the workflow's sources, the configuration, every run's record and statistics, the tables, the figures
and the report, with checksums (MANIFEST.json; `sha256sum -c SHA256SUMS`).

Make every table and figure again from the runs, without a simulation:

    make env
    rm -r {results}
    .venv/bin/snakemake --cores all {report}

The tables come out byte for byte as they were; compare them with those of the archive FILE:

    .venv/bin/apuflow archive check FILE --against .

{metadata} describes the same as a Workflow Run RO-Crate: which run of which gem5 made which file, and when.
"""

APPENDIX = "APPENDIX.md"


def study_files(campaign: Campaign, sweep: Sweep) -> dict[str, Path | bytes]:
    """The files of a sweep's archive: path inside it, and where each is.

    Raises:
        ConfigError: a run, table or the report of the sweep is not there yet.
    """
    root, under = campaign.root, paths.under(sweep.name)
    report = paths.report(under)
    workloads = campaign.workloads(sweep)
    tables = dict.fromkeys([*workloads, *campaign.shown(sweep)])
    wanted = [file for name in tables for file in paths.table_files(under, name)]
    behind = campaign.report_inputs({"under": under})
    wanted += [*behind["suites"], *behind["sampled"], report]
    records = [record for workload in workloads for record in campaign.records(sweep, workload)]
    missing = [path for path in (*records, *wanted) if not (root / path).is_file()]
    if missing:
        raise ConfigError(
            f"the study is not complete: {len(missing)} of its files are missing",
            file=missing[0],
            remedy=f"snakemake --cores all {report}",
        )
    files: dict[str, Path | bytes] = {path: root / path for path in wanted}
    made = [file for file in sorted((root / paths.figure(under, "x")).parent.glob("*")) if file.is_file()]
    made += [file for record in records for file in _run_files((root / record).parent)]
    files |= {file.relative_to(root).as_posix(): file for file in made}
    for name in PROJECT:
        own = (root / "workflow/apuflow" if name in CODE else root / name).exists()
        files |= files_below(name, root / name) if own else files_of(name)
    used = {name for workload in workloads for name in releases(sweep, workload, root)}
    toolsets = [Toolset(release, root) for release in used]
    for tools in toolsets:
        release, image = tools.release.name, tools.record("image")
        if (root / image).is_file():
            files[image] = root / image
        for tool in sorted((root / image).parent.glob("*.json")):
            files[f"provenance/{release}/{tool.name}"] = tool
    loaded = [load_workload(workload, root) for workload in workloads]
    given = supplied(load_site(root), loaded, root, [tools.release for tools in toolsets])
    if given:
        files[paths.supplied_record()] = (json.dumps(given, indent=1) + "\n").encode()
    results = f"{paths.RESULTS}/{under}" if under else " ".join([*wanted, f"{paths.RESULTS}/figures"])
    text = README.format(
        name=sweep.name, version=__version__, results=results, report=report, metadata=crate.METADATA
    )
    files["ARCHIVE.md"] = text.encode()
    return files


def described(
    campaign: Campaign, sweep: Sweep, files: Mapping[str, Path | bytes], *, with_appendix: bool = False
) -> tuple[dict[str, Path | bytes], Authorship]:
    """The files of a sweep's archive with those that describe it, and who made it.

    Added are the RO-Crate's metadata, Zenodo's, ``CITATION.cff`` of the project, and the artifact appendix.

    Args:
        files: from ``study_files``.
        with_appendix: whether to write the appendix.

    Raises:
        ConfigError: ``CITATION.cff`` cannot be read.
    """
    given = authorship(campaign.root)
    records = _records(campaign, sweep)
    added: dict[str, Path | bytes] = {".zenodo.json": zenodo(sweep, given, __version__)}
    if (campaign.root / CITATION).is_file():
        added[CITATION] = campaign.root / CITATION
    if with_appendix:
        size = sum(len(file) if isinstance(file, bytes) else file.stat().st_size for file in files.values())
        text = appendix.appendix(sweep, records, _tables(campaign, sweep), given, size)
        added[APPENDIX] = text.encode()
    whole = {**files, **added}
    whole[crate.METADATA] = crate.metadata(sweep, records, whole, given)
    return whole, given


def _records(campaign: Campaign, sweep: Sweep) -> dict[str, RunRecord | BatchRecord]:
    named = [path for workload in campaign.workloads(sweep) for path in campaign.records(sweep, workload)]
    return {path: read_record(campaign.root / path) for path in dict.fromkeys(named)}


def _tables(campaign: Campaign, sweep: Sweep) -> dict[str, Path]:
    """The CSV of each workload's table, and the Parquet file that has its types."""
    under = paths.under(sweep.name)
    files = {name: paths.table_files(under, name) for name in campaign.workloads(sweep)}
    return {csv: campaign.root / parquet for csv, parquet, _ in files.values()}


def about(campaign: Campaign, sweep: Sweep) -> Mapping[str, Any]:
    """Facts about a study for its archive's manifest."""
    workloads = campaign.workloads(sweep)
    try:
        commit, changed = commit_of(campaign.root), bool(changes_of(campaign.root))
    except EngineError:
        commit, changed = "", False
    return {
        "apuflow": __version__,
        "commit": commit,
        "changed": changed,
        "sweep": sweep.name,
        "description": sweep.description,
        "engines": list(sweep.engines),
        "workloads": workloads,
        "points": sum(len(campaign.points(sweep.name, workload)) for workload in workloads),
    }


def _run_files(directory: Path) -> Iterator[Path]:
    for path in sorted(directory.rglob("*")):
        inside = path.relative_to(directory).parts
        if path.is_symlink() or not path.is_file() or set(inside) & _NOT_OF_A_RUN:
            continue
        if len(inside) == 1 or path.stat().st_size <= LARGEST:
            yield path
