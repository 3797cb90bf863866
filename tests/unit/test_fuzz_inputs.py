"""Parsers meet anything: they read it or refuse it in our words, and never prove too much."""

from __future__ import annotations

import copy
import json
import lzma
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from gem5_text import Printer
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from places import ROOT

from apuflow.configure import load_sweep, yaml_source
from apuflow.configure.combinations import plan
from apuflow.core.errors import AnalysisError, ApuflowError, ConfigError
from apuflow.core.record import read, read_run
from apuflow.prepare.builds import Gem5Record
from apuflow.prepare.records import read_record as read_tool_record
from apuflow.run.outcome import ExitFacts, Expectation, classify
from apuflow.run.proof import read_proof
from apuflow.run.status import guest_ticks, read_progress
from apuflow_analysis.tables import tables

DATA = ROOT / "tests/data"
FUZZ = settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)

scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=12)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)


def places(document: Any, at: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """Every key and list position of a document."""
    found: list[tuple[str | int, ...]] = []
    pairs: list[tuple[str | int, Any]] = []
    if isinstance(document, dict):
        pairs = list(document.items())
    elif isinstance(document, list):
        pairs = list(enumerate(document))
    for key, value in pairs:
        found += [(*at, key), *places(value, (*at, key))]
    return found


def changed(document: Any, place: tuple[str | int, ...], value: Any, drop: bool) -> Any:
    """The document with one place replaced or left out."""
    result = copy.deepcopy(document)
    parent = result
    for key in place[:-1]:
        parent = parent[key]
    if drop:
        del parent[place[-1]]
    else:
        parent[place[-1]] = value
    return result


@st.composite
def damaged(draw: Callable[..., Any], document: Any) -> Any:
    """A document of which one to three places are something else."""
    for _ in range(draw(st.integers(1, 3))):
        known = places(document)
        if known:
            document = changed(document, draw(st.sampled_from(known)), draw(values), draw(st.booleans()))
    return document


# run.json ---------------------------------------------------------------------------------------------------
def run_record() -> dict[str, Any]:
    return {
        "format": 1,
        "engine": "gem5",
        "workload": "softmax_fwd",
        "direction": "fwd",
        "point": "u4-0123abcd",
        "identity": {"gem5": {"commit": "0" * 40}},
        "axes": {"num-compute-units": 4},
        "options": {"num-compute-units": 4, "gfx-version": "gfx801", "mem-size": "512MB"},
        "gfx": "gfx801",
        "release": "v22.1",
        "status": "completed",
        "evidence": "Exiting because exiting with last active thread context",
        "exit_code": 0,
        "attempt": 1,
        "started": "2026-01-01T00:00:00+00:00",
        "ended": "2026-01-01T00:10:00+00:00",
        "wall_seconds": 600.0,
        "peak_memory_bytes": 1 << 30,
        "host": {"name": "h"},
        "command": ["gem5.opt"],
        "statistics": "stats.txt",
        "ticks": 1,
        "provenance": {"gem5_commit": "0" * 40, "mmap_bytes": 4096},
        "launches": [{"layer": "l", "kernel": "k", "grid": [256], "workgroup": [256]}],
    }


@pytest.fixture(scope="module")
def run_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("run")
    source = DATA / "gem5_runs/stats/softmax_fwd-100x1000x1x1-u4.txt.xz"
    (directory / "stats.txt").write_bytes(lzma.decompress(source.read_bytes()))
    (directory / "run.json").write_text(json.dumps(run_record()))
    assert tables.build([directory])["status"].tolist() == ["completed"]
    return directory


@FUZZ
@given(record=damaged(run_record()))
def test_a_damaged_run_record_is_read_or_refused(run_dir: Path, record: Any) -> None:
    file = run_dir / "run.json"
    file.write_text(json.dumps(record))
    try:
        frame = tables.build([run_dir])
    except AnalysisError as error:
        assert error.message
    else:
        assert len(frame) == 1
        assert read_run(file).engine == frame["engine"][0]


@FUZZ
@given(
    content=st.binary(max_size=200)
    | st.text(max_size=200).map(str.encode)
    | values.map(json.dumps).map(str.encode)
)
def test_bytes_that_are_no_record_are_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "run.json").write_bytes(content)
    with pytest.raises(AnalysisError):
        read(tmp_path / "run.json")
    with pytest.raises(ApuflowError):
        read_tool_record(tmp_path / "run.json", Gem5Record)
    assert read_progress(tmp_path / "run.json") is None


# sweep files ------------------------------------------------------------------------------------------------
SWEEP = {
    "description": "a test",
    "engines": ["preview"],
    "machine": "gem5",
    "release": "v22.1",
    "workloads": ["softmax_fwd", "-pool_*"],
    "options": {"num-tccs": 2, "mem-size": "1GB"},
    "layer": {"n": 4},
    "axes": {"num-compute-units": [1, 2, 4], "layer": {"c": [8, 16]}},
    "zip": [{"wfs-per-simd": [4, 8], "simds-per-cu": [2, 4]}],
    "exclude": [{"num-compute-units": 4, "layer": {"c": 16}}],
    "limits": {"max_points": 1000, "wall_time": "1h"},
    "on_failure": "record",
    "per_workload": {"softmax_*": {"layer": {"w": 2}}},
}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("project")
    (directory / "configs").mkdir()
    for name in ("machines", "gem5", "workloads"):
        (directory / "configs" / name).symlink_to(ROOT / "configs" / name)
    (directory / "configs/sweeps").mkdir()
    return directory


@FUZZ
@given(sweep=damaged(SWEEP))
def test_a_damaged_sweep_is_planned_or_refused_with_its_place(root: Path, sweep: Any) -> None:
    file = root / "configs/sweeps/mine.yaml"
    file.write_text(yaml.safe_dump(sweep, sort_keys=False))
    try:
        loaded = load_sweep("mine", root)
        planned = plan(loaded, "softmax_fwd", root)
        assert planned.size >= 1
    except ConfigError as error:
        assert "mine.yaml" in str(error)


@FUZZ
@given(text=st.text(st.sampled_from("a:- []{}&*!|>'\"#%@`,?\n\t0.~<\\é"), max_size=60) | st.text(max_size=60))
def test_any_text_is_yaml_or_refused(text: str) -> None:
    try:
        document = yaml_source.parse(text, "mine.yaml")
    except ConfigError as error:
        assert "mine.yaml" in str(error)
    else:
        assert isinstance(document.data, dict)


# simout and statistics --------------------------------------------------------------------------------------
MARKER = "DNNMark suites: Tear down..."
LINES = [
    MARKER,
    "Ticks: 5068886000",
    "Exiting because  exiting with last active thread context",
    "Exiting because  simulate() limit reached",
    "Exiting because  user interrupt received",
    "src/sim/simulate.cc:194: info: Entering event queue @ 0.  Starting simulation...",
    "src/arch/x86/faults.cc:167: panic: fault (General-Protection) detected",
    "src/sim/syscall_emul.cc:67: fatal: syscall memfd_create (#319) unimplemented.",
    "HIP Error at /dnn/data_manager.h61",
    "MIOpen Error: 7 at /dnn/softmax_layer.h113",
    "F0909 01:46:40.002100   100 data_png.h:93] Requested data larger than binary file size",
    "I0909 01:46:40.000001   100 x.cc:1] fine",
    "Traceback (most recent call last):",
    "terminate called after throwing an instance of 'std::bad_alloc'",
    "gem5 has encountered a segmentation fault!",
    "Unable to load binary for: MIOpenSoftmax.cl ;args:  -DA=1 -mcpu=gfx801",
]
texts = st.lists(st.sampled_from(LINES) | st.text(max_size=30), max_size=12).map("\n".join)


@FUZZ
@given(
    code=st.sampled_from([0, 0, 0, 1, 2, 134, 137, 139, 143]),
    simout=texts,
    simerr=texts,
    oom=st.booleans(),
    stopped=st.sampled_from([None, None, "wall", "interrupt", "engine"]),
)
def test_any_output_has_an_outcome_and_only_the_whole_proof_completes(
    whole_statistics: Path, code: int, simout: str, simerr: str, oom: bool, stopped: str | None
) -> None:
    facts = ExitFacts(code, oom, stopped)
    outcome = classify(facts, simout, simerr, whole_statistics, Expectation(end_marker=MARKER))
    assert outcome.evidence
    if outcome.completed:
        said = f"{simout}\n{simerr}"
        assert code == 0
        assert LINES[2] in simout and MARKER in said and LINES[1] in simout
        assert not any(line in said for line in (*LINES[8:11], LINES[13]))
    assert not classify(facts, simout, simerr, None, Expectation(end_marker=MARKER)).completed


@pytest.fixture(scope="module")
def whole_statistics(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("statistics") / "stats.txt"
    printer = Printer()
    printer.row("finalTick", 5068886000, "x")
    printer.row("system.cpu3.dispatcher.numKernelLaunched", 1, "x")
    printer.row("system.cpu2.CUs0.completedWfs", 4, "x")
    file.write_text(printer.block())
    assert read_proof(file).problem is None
    return file


@FUZZ
@given(content=st.binary(max_size=400), suffix=st.sampled_from([".txt", ".gz", ".zst", ".xz"]))
def test_any_bytes_as_statistics_prove_nothing(tmp_path: Path, content: bytes, suffix: str) -> None:
    file = tmp_path / f"stats{suffix}"
    file.write_bytes(content)
    assert read_proof(file).problem is not None


@FUZZ
@given(text=st.binary(max_size=100) | st.text("IWEF0123456789 :.", max_size=40).map(str.encode))
def test_any_log_has_a_time_or_none(text: bytes) -> None:
    ticks = guest_ticks(text)
    assert ticks is None or ticks >= 0
