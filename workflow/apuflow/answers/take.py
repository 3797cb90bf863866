"""Answers of finished points: counters, hashes of rows, and what they were made from."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping

from apuflow.answers.answer import Answer, Kind
from apuflow.answers.rows import row_hashes
from apuflow.configure.point import Point
from apuflow.core import paths
from apuflow.core.errors import EngineError
from apuflow.core.files import sha256_file
from apuflow.core.record import RunRecord, Status, read_run
from apuflow.engines import simulating_engine
from apuflow.engines.preview_batch import batch_columns
from apuflow.miopen.elf import code_bytes
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
    facts = {"products": _products(point)}
    numbers = {name: float(columns[name][0]) for name in BY_NAME if name in columns}
    return _answer(point, facts, numbers, {})


def _answer(
    point: Point, facts: Mapping[str, str], counters: Mapping[str, float], hashes: Mapping[str, str]
) -> Answer:
    layer = hashlib.sha256((point.work.text or "").encode()).hexdigest()[:_DIGITS]
    values: dict[tuple[Kind, str], str] = {
        ("fact", "engine_version"): point.software.version or "",
        ("fact", "layer"): layer,
    }
    values |= {("fact", name): text for name, text in facts.items()}
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
