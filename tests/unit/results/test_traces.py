"""Traces of runs and of the preview, against gem5's own numbers and the published JSON form.

Perfetto's own reader is a program that it downloads; here the rules of the "Trace Event Format" are checked:
what each kind of event must have, and that spans of a track nest.
"""

from __future__ import annotations

import json
import lzma
from collections import defaultdict
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from places import ROOT
from run_records import run_record
from sweep_texts import HEAD, expand
from typer.testing import CliRunner

from apuflow.cli import build_app
from apuflow.configure import load_release
from apuflow.core import paths
from apuflow.core.errors import DescribedError
from apuflow.engines.preview_batch import batch_columns, write_batch
from apuflow.results.trace_events import Span, in_lanes
from apuflow.run.kernel_trace import parse_workgroups

CONVOLUTION = ROOT / "tests/data/gem5_runs/dispatches/conv_fwd.txt.xz"
COLUMNS = {"kernel": "Im2d2Col", "grid": [2048, 1, 1], "workgroup": [256, 1, 1]}
PRODUCT = {"kernel": "sgemm", "grid": [256, 16, 1], "workgroup": [16, 16, 1]}
SHADER, DISPATCHER = "system.cpu3", "system.cpu0.workload.drivers0.device.dispatcher"
WORKGROUPS = f"""\
310000000: {SHADER}: WG Begin cycle:310000000 wg:0 cu:0
310000000: {SHADER}: WG Begin cycle:310000000 wg:1 cu:1
311000000: {SHADER}: WG Begin cycle:311000000 wg:2 cu:0
312000000: {DISPATCHER}: WG Complete cycle:312000000 wg:0 kernel:0 cu:0
313000000: {DISPATCHER}: WG Complete cycle:313000000 wg:1 kernel:0 cu:1
313000000: {SHADER}: WG Begin cycle:313000000 wg:0 cu:0
314000000: {DISPATCHER}: WG Complete cycle:314000000 wg:2 kernel:0 cu:0
315000000: {DISPATCHER}: WG Complete cycle:315000000 wg:0 kernel:1 cu:0
"""
"""In the words of shader.cc and dispatcher.cc; the last begin has no end in a trace that is cut."""


def checked(file: Path) -> list[dict[str, Any]]:
    """The events of a file that keeps the rules of the format."""
    content = json.loads(file.read_text(encoding="utf-8"))
    assert content["displayTimeUnit"] in ("ms", "ns")
    spans: dict[tuple[int, int], list[tuple[float, float]]] = defaultdict(list)
    for event in content["traceEvents"]:
        assert event["ph"] in "XCM" and isinstance(event["name"], str)
        assert isinstance(event["pid"], int) and isinstance(event["tid"], int)
        if event["ph"] == "M":
            assert event["name"] in (
                "process_name",
                "process_sort_index",
                "thread_name",
                "thread_sort_index",
            )
            continue
        assert event["ts"] >= 0
        if event["ph"] == "C":
            assert event["args"] and all(isinstance(value, float) for value in event["args"].values())
        else:
            assert event["dur"] >= 0
            spans[event["pid"], event["tid"]].append((event["ts"], event["ts"] + event["dur"]))
    for track in spans.values():
        for (_, ended), (began, _) in zip(sorted(track), sorted(track)[1:], strict=False):
            assert began >= ended - 1e-6
    return list(content["traceEvents"])


def tracks(events: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """The spans of each track, by its name."""
    names = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in names.values()}
    for event in events:
        if event["ph"] == "X":
            found[names[event["pid"], event["tid"]]].append(event)
    return found


def run(*arguments: str | Path) -> str:
    done = CliRunner().invoke(build_app(), ["trace", *map(str, arguments)])
    if done.exception is not None:
        raise done.exception
    return done.output


@pytest.fixture
def convolution(tmp_path: Path) -> Path:
    """A recorded run with a dump per kernel."""
    (tmp_path / "stats.txt").write_bytes(lzma.decompress(CONVOLUTION.read_bytes()))
    record = run_record(
        options={"num-compute-units": 4, "simds-per-cu": 4, "wf-size": 64, "issue-period": 4, "num-tccs": 1},
        release="v23.0",
        release_facts=asdict(load_release("v23.0", ROOT).facts),
        launches=[COLUMNS, PRODUCT] * 2,
        statistics="stats.txt",
    )
    (tmp_path / "run.json").write_text(json.dumps(record))
    return tmp_path


def test_kernels_and_counters_of_a_run_lie_where_gem5_counted_them(convolution: Path) -> None:
    """simTicks, finalTick and shaderActiveTicks of its dumps; the second is from 307716000 to 357022500."""
    output = convolution / "trace.json"
    assert "10 spans" in run(convolution, "-o", output)
    events = checked(output)
    found = tracks(events)
    kernels = found["kernels"]
    assert [one["name"] for one in kernels] == ["Im2d2Col", "sgemm", "Im2d2Col", "sgemm"]
    assert [one["ts"] + one["dur"] for one in kernels] == pytest.approx([357.0225, 420.66, 459.385, 503.044])
    assert [one["dur"] for one in kernels] == pytest.approx([33.811999, 42.627999, 18.465999, 26.529999])
    dumps = found["dumps of statistics"]
    assert [one["ts"] for one in dumps[:2]] == pytest.approx([0, 307.716])
    reads = [e for e in events if e["name"] == "DRAM (bytes per second)"]
    at = {round(e["ts"], 4): e["args"]["dram_read_bandwidth"] for e in reads}
    assert at[307.716] == pytest.approx(109184 / 33811999e-12)
    assert at[357.0225] == 0  # until the next dump begins
    stalls = next(e for e in events if e["name"].startswith("stalls") and e["ts"] > 307)
    assert sum(stalls["args"].values()) == pytest.approx(1)


def test_dispatches_that_gem5_traced_are_the_kernels(convolution: Path) -> None:
    record = json.loads((convolution / "run.json").read_text())
    one = {"name": "Some kernel", "grid": [64], "workgroup": [64], "arguments": 0, "submitted": 308000000}
    record["dispatches"] = [
        one | {"launched": begun, "completed": begun + 5000000}
        for begun in (309000000, 312000000, 320000000, 330000000)
    ]
    (convolution / "run.json").write_text(json.dumps(record))
    run(convolution, "-o", convolution / "trace.json")
    found = tracks(checked(convolution / "trace.json"))
    assert [(k["name"], k["ts"]) for k in found["kernels"]] == [
        ("Im2d2Col", 309),
        ("Im2d2Col", 320),
        ("sgemm", 330),
    ]
    assert [(k["name"], k["ts"], k["dur"]) for k in found["kernels, 2"]] == [("sgemm", 312, 5)]


def test_workgroups_of_a_compute_unit_have_a_track_each_while_they_overlap(convolution: Path) -> None:
    (convolution / "kernels.trace").write_text(WORKGROUPS)
    run(convolution, "-o", convolution / "trace.json", "--workgroups", convolution / "kernels.trace")
    found = tracks(checked(convolution / "trace.json"))
    units = {name: [(s["name"], s["ts"], s["dur"]) for s in v] for name, v in found.items() if "CU" in name}
    assert units == {
        "CU 0, slot 0": [("workgroup 0", 310, 2), ("workgroup 0", 313, 2)],
        "CU 0, slot 1": [("workgroup 2", 311, 3)],
        "CU 1, slot 0": [("workgroup 1", 310, 3)],
    }


def test_a_workgroup_that_did_not_end_is_left_out() -> None:
    lines = WORKGROUPS.splitlines()
    assert [one.kernel for one in parse_workgroups(lines)] == [0, 0, 0, 1]
    assert len(parse_workgroups(lines[:-1])) == 3


def test_lanes_are_as_many_as_spans_overlap() -> None:
    spans = [Span("a", 0, 4), Span("b", 1, 2), Span("c", 2, 3), Span("d", 4, 5)]
    assert [[one.name for one in lane] for lane in in_lanes(spans)] == [["a", "d"], ["b", "c"]]


def test_the_previews_terms_have_a_track_each_and_say_that_they_are_a_model(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(root)
    points = expand(root, HEAD + "axes: {num-compute-units: [1, 4]}\n")
    record = root / paths.preview_record("t", "softmax_fwd")
    record.parent.mkdir(parents=True)
    write_batch(points, root / paths.preview_counters("t", "softmax_fwd"), record)
    run(record.parent, "-o", "trace.json")
    events = checked(root / "trace.json")
    names = [event["args"]["name"] for event in events if event["name"] == "process_name"]
    assert len(names) == 2 and all("model (preview, not gem5)" in name for name in names)
    found = tracks(events)
    assert all(name.startswith("model: ") for name in found) and "model: computing" in found
    ticks = batch_columns(points)["gpu_active_ticks"]
    assert [one["dur"] * 1e6 for one in found["model: kernels"]] == pytest.approx(list(ticks))
    run(record.parent, "-o", "one.json", "--point", points[0].id)
    assert len(tracks(checked(root / "one.json"))["model: kernels"]) == 1


@pytest.mark.parametrize(
    ("arguments", "key"),
    [(("--point", "u4"), "--point"), (("--workgroups", "empty.trace"), "--workgroups")],
)
def test_what_a_run_cannot_show_is_said(
    convolution: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], key: str
) -> None:
    monkeypatch.chdir(convolution)
    Path("empty.trace").write_text("")
    with pytest.raises(DescribedError) as caught:
        run(convolution, "-o", "trace.json", *arguments)
    assert caught.value.key == key and caught.value.remedy
    assert not Path("trace.json").exists()
