"""Run the points of sweep ``known_answers`` on this machine's tools, and take their answers."""

from __future__ import annotations

import contextlib
import hashlib
import math
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from apuflow.answers.answer import DIGITS, SWEEP, Answer, Kind, differences, equal
from apuflow.configure.point import Point
from apuflow.core import paths
from apuflow.core.engines import EngineName, is_batch
from apuflow.core.errors import ConfigError, EngineError
from apuflow.core.files import sha256_file
from apuflow.core.record import RunRecord, Status, read_run
from apuflow.core.workflow import run_workflow
from apuflow.engines import get_engine, simulating_engine
from apuflow.engines.preview_batch import batch_columns
from apuflow.gem5.stats.blocks import open_packed
from apuflow.gem5.stats.checks import ACTIVE
from apuflow.miopen.elf import code_bytes
from apuflow.plan.campaign import Campaign
from apuflow.prepare.tools import Toolset
from apuflow_analysis.counters.table import BY_NAME
from apuflow_analysis.tables.records import Row, read_record


def points(engine: EngineName, release: str, root: Path) -> tuple[Point, ...]:
    """The points of the sweep on a release, the smallest first.

    Raises:
        ConfigError: the sweep does not exist, or lacks the release or the engine.
    """
    campaign = Campaign(root)
    sweep = campaign.load(SWEEP)
    file = root / paths.sweep_file(SWEEP)
    if engine not in sweep.engines:
        problem = "the sweep of known answers does not have this engine"
        raise ConfigError(problem, file=file, key="engines", value=engine, remedy=f"append {engine}")
    found = [point for name in campaign.workloads(sweep) for point in campaign.points(SWEEP, name, engine)]
    chosen = tuple(point for point in found if point.release == release)
    if not chosen:
        have = ", ".join(dict.fromkeys(point.release for point in found))
        remedy = (
            f"append {release} to its list release and a machine of it to its list machine; it has {have}"
        )
        problem = "the sweep of known answers does not have this release"
        raise ConfigError(problem, file=file, key="zip", value=release, remedy=remedy)
    return chosen


def answers(engine: EngineName, wanted: Sequence[Point], root: Path) -> tuple[Answer, ...]:
    """Results of points of one release on this machine. On gem5 they run again, even if they have run before.

    Raises:
        EngineError: a run did not complete, or the workflow failed.
    """
    if is_batch(engine):
        return tuple(map(of_preview, wanted))
    release = wanted[0].release
    if get_engine(engine).image_in_identity:  # its digest is part of the points' names
        names = [point.workload for point in wanted]
        run_workflow([Toolset(release, root).record("image")], root)
        wanted = [point for point in points(engine, release, root) if point.workload in names]
    with contextlib.ExitStack() as stack:
        for point in wanted:
            stack.enter_context(_set_aside(point, root))
        run_workflow([paths.run_record(engine, point.workload, point.id) for point in wanted], root)
    tools = Toolset(release, root)
    return tuple(of_run(tools, point) for point in wanted)


def record(engine: EngineName, release: str, root: Path) -> tuple[Answer, ...]:
    """The answers of all points, run twice.

    Raises:
        EngineError: the two differ: this is no known answer.
    """
    wanted = points(engine, release, root)
    first, second = (answers(engine, wanted, root) for _ in range(2))
    for one, other in zip(first, second, strict=True):
        found = differences(one, other)
        if not equal(found):
            problem = "two runs of one point differ: this gem5 is not deterministic"
            told = ", ".join(f"{each.kind} {each.name}" for each in found[:8])
            remedy = "nothing was written; check these rows for numbers of the host, and gem5 for a race"
            raise EngineError(problem, key=one.workload, value=told, remedy=remedy)
    return second


def is_built(point: Point, root: Path) -> bool:
    """Whether the gem5 of a point is there, so that a proof takes seconds."""
    if is_batch(point.engine):
        return True
    tools = Toolset(point.release, root)
    return tools.site.gem5.binary is not None or (root / tools.record(tools.gem5_tool(point.gfx))).exists()


@contextlib.contextmanager
def _set_aside(point: Point, root: Path) -> Iterator[None]:
    """Move an existing run away; move it back if the new one leaves no record."""
    directory = (root / point.record).parent
    aside = root / paths.set_aside_dir(point.engine, point.workload, point.id)
    if not directory.exists():
        yield
        return
    shutil.rmtree(aside, ignore_errors=True)
    aside.parent.mkdir(parents=True, exist_ok=True)
    directory.rename(aside)
    try:
        yield
    finally:
        if (directory / "run.json").exists():
            shutil.rmtree(aside, ignore_errors=True)
        else:
            shutil.rmtree(directory, ignore_errors=True)
            aside.rename(directory)


def of_run(tools: Toolset, point: Point) -> Answer:
    """The answer of a point that gem5 has run.

    Raises:
        EngineError: the run did not complete.
        AnalysisError: its record or its statistics cannot be read.
    """
    file = tools.root / point.record
    record, row = read_run(file), read_record(file)
    if record.status is not Status.COMPLETED:
        problem = f"{point.workload} did not complete: {record.evidence}"
        remedy = record.remedy or "read its log in logs/simulate"
        raise EngineError(problem, file=file, value=record.status.value, remedy=remedy)
    assert isinstance(row, Row)
    hashes = row_hashes(record.statistics_files(file.parent))
    return _answer(point, _facts(tools, point, record), row.counters, hashes)


def of_preview(point: Point) -> Answer:
    """The preview's answer of a point.

    Raises:
        NotModelled: the model refuses a layer or an option.
    """
    columns = batch_columns([point])
    numbers = {name: float(columns[name][0]) for name in BY_NAME if name in columns}
    return _answer(point, {"products": _products(point)}, numbers, {})


def _answer(
    point: Point, facts: Mapping[str, str], counters: Mapping[str, float], hashes: Mapping[str, str]
) -> Answer:
    layer = hashlib.sha256((point.work.text or "").encode()).hexdigest()[:DIGITS]
    facts = {"engine_version": point.software.version or "", "layer": layer, **facts}
    values: dict[tuple[Kind, str], str] = {("fact", name): text for name, text in facts.items()}
    values |= {("option", name): str(value) for name, value in dict(point.options).items()}
    for name, counter in BY_NAME.items():
        value = counters.get(name, math.nan)
        if not counter.stats.startswith("host") and not math.isnan(value):
            values["counter", name] = str(int(value)) if value == int(value) else f"{value:.9g}"
    values |= {("rows", name): text for name, text in hashes.items()}
    return Answer(point.workload, {key: text for key, text in values.items() if text})


def _facts(tools: Toolset, point: Point, record: RunRecord) -> dict[str, str]:
    made = record.provenance
    engine = simulating_engine(point.engine)
    needs = engine.needs(tools, point)
    code = hashlib.sha256()
    for item in needs.every_object:
        code.update(code_bytes((tools.root / paths.kernel_object(item.gfx, item.name)).read_bytes()))
    compiler = tools.launcher_compiler(point.gfx) if engine.for_launcher else tools.compiler
    return {
        "products": _products(point),
        "corrections": point.software.corrections or "",
        "kernel_compiler": compiler.identity.partition("\n")[0],
        "kernel_code": code.hexdigest()[:DIGITS],
        "image": (made.image_digest or "") if engine.image_in_identity else "",
        "gem5_version": made.gem5_version or "",
        "gem5_commit": made.gem5_commit or "",
        "gem5_patches": made.gem5_patches or "",
        "gem5_notes": "; ".join(made.notes),
        "launcher": sha256_file(tools.root / needs.launcher)[:DIGITS] if needs.launcher else "",
    }


def _products(point: Point) -> str:
    return "stand-in" if point.software.products is None else "rocblas"


_HOST: Final = re.compile(rb"host[A-Z_]")
"""Rows about the machine that runs gem5, not the simulated one: hostSeconds, hostMemory, hostTickRate
(src/sim/root.cc), hostInstRate, hostOpRate (src/cpu/base.cc)."""
_MARK: Final = b"----------"
"""Begins the lines around a block."""
_PARTS: Final = (
    ("translation", re.compile(rb"system\.\w*(?:tlb|coalescer)\w*\.")),
    ("cpu", re.compile(rb"system\.cpu\d*[._]")),
    ("network", re.compile(rb"system\.ruby\.network\.")),
    ("caches", re.compile(rb"system\.ruby\.")),
    ("memory", re.compile(rb"system\.\w*mem_ctrls")),
)


def row_hashes(files: Iterable[Path]) -> dict[str, str]:
    """Hash the rows of each part of the machine, all blocks and files in order.

    Rows of the host and descriptions, which differ between releases, are left out.

    Returns:
        By part (gpu, translation, cpu, network, caches, memory, other): number of rows and 16 hexadecimal
        digits.
    """
    hashes = {name: hashlib.sha256() for name in ("gpu", *(name for name, _ in _PARTS), "other")}
    counts = dict.fromkeys(hashes, 0)
    for file in files:
        with open_packed(file) as stream:
            lines = stream.read().splitlines()
        gpu = next((line.split(None, 1)[0] for line in lines if ACTIVE.encode() in line[:80]), b"\0")
        gpu = gpu.removesuffix(ACTIVE.encode()) + b"."
        for line in lines:
            row = b" ".join(line.partition(b" # ")[0].split())
            if not row or row.startswith(_MARK) or _HOST.match(row):
                continue
            others = (name for name, pattern in _PARTS if pattern.match(row))
            part = "gpu" if row.startswith(gpu) else next(others, "other")
            hashes[part].update(row + b"\n")
            counts[part] += 1
    return {name: f"{counts[name]}:{each.hexdigest()[:16]}" for name, each in hashes.items()}
