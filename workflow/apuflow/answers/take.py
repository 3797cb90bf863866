"""Answers of finished points: counters, hashes of rows, and what they were made from."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from apuflow.answers.answer import Answer, Kind
from apuflow.configure.point import Point
from apuflow.core import paths
from apuflow.core.errors import EngineError
from apuflow.core.files import sha256_file
from apuflow.core.record import RunRecord, Status, read_run
from apuflow.engines import simulating_engine
from apuflow.engines.preview_batch import batch_columns
from apuflow.gem5.stats.blocks import open_packed
from apuflow.gem5.stats.checks import ACTIVE
from apuflow.miopen.compiler import code_bytes
from apuflow.prepare.tools import Toolset
from apuflow_analysis.counters.table import BY_NAME
from apuflow_analysis.tables.records import Row, read_record

_DIGITS = 16


def of_run(tools: Toolset, point: Point) -> Answer:
    """The answer of a point that gem5 has run.

    Raises:
        EngineError: the run did not complete.
        AnalysisError: its record or its statistics cannot be read.
    """
    file = tools.root / paths.run_record(point.engine, point.workload, point.id)
    record, row = read_run(file), read_record(file)
    if record.status is not Status.COMPLETED:
        raise EngineError(
            f"{point.workload} did not complete: {record.evidence}",
            file=file,
            value=record.status.value,
            remedy=record.remedy or "read its log in logs/simulate",
        )
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
    layer = hashlib.sha256((point.work.text or "").encode()).hexdigest()[:_DIGITS]
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
        "kernel_code": code.hexdigest()[:_DIGITS],
        "image": (made.image_digest or "") if engine.image_in_identity else "",
        "gem5_version": made.gem5_version or "",
        "gem5_commit": made.gem5_commit or "",
        "gem5_patches": made.gem5_patches or "",
        "gem5_notes": "; ".join(made.notes),
        "launcher": sha256_file(tools.root / needs.launcher)[:_DIGITS] if needs.launcher else "",
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
