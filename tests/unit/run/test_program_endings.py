"""How gem5-resources' GPU programs fail, as they print it themselves, is never taken for a success."""

from __future__ import annotations

import lzma
from pathlib import Path

import pytest
import yaml
from places import DATA, ROOT

from apuflow.core.record import Status
from apuflow.run.outcome import EndFile, ExitFacts, Expectation, Outcome, classify

EXAMPLES = ROOT / "configs/workloads/examples"
STARTED = "src/sim/simulate.cc:194: info: Entering event queue @ 0.  Starting simulation...\n"
NORMAL = "Ticks: 5068886000\nExiting because  exiting with last active thread context\n"

# example, exit status, first line: gem5-resources v23.0.1.0, compiled for gfx801, started without a GPU
REFUSED = [
    ("pannotia_fw", 1, "Execution mode not specified! Use -h for help"),
    ("pannotia_fw", 0, "SWITCHES"),
    ("pannotia_fw", 1, "Error when opening file: none.gr"),
    ("pannotia_bc", 1, "You did something wrong!"),
    ("pannotia_bc", 1, "Error when opennning file: none.gr"),
    ("pannotia_color_max", 1, "Error when opening file: none.gr"),
    ("pannotia_mis", 1, "Error when opening file: none.gr"),
    ("pannotia_pagerank", 1, "Error when opening file: none.graph"),
    ("pannotia_sssp_ell", 1, "Error when opening file: none.gr"),
    ("halo_finder", 255, "Using serial initalize"),
    ("pennant", 1, "File none.pnt not found"),
    ("heterosync_sleep_mutex", 255, "./allSyncPrims-1kernel <syncPrim> <numLdSt> <numWGs> <numCSIters>"),
    ("heterosync_sleep_mutex", 255, "There is no device supporting HIP"),
]

# example, a line of its source that it prints before it ends with status 0
WRONG = [
    ("hip_stream", "FAILED: 12 errors"),
    ("pannotia_fw", "ERROR: Too many nodes, huge adjacency matrix"),
    ("pannotia_fw", "WARNING: Produced incorrect results!\nFinishing Floyd-Warshall"),
]


def ending(tmp_path: Path, example: str, status: int, text: str) -> Outcome:
    """A run with the statistics of a real one, in which the program printed ``text``."""
    command = yaml.safe_load((EXAMPLES / f"{example}.yaml").read_text())
    file = command.get("end_file")
    expectation = Expectation(
        command.get("end_marker"),
        tuple(command.get("error_texts", ())),
        end_file=EndFile(**file) if file else None,
    )
    statistics = tmp_path / "stats.txt"
    statistics.write_bytes(lzma.decompress((DATA / "gem5_outcomes/ok/stats.txt.xz").read_bytes()))
    return classify(
        ExitFacts(status), f"{text}\n{NORMAL}", STARTED, statistics, expectation, directory=tmp_path
    )


@pytest.mark.parametrize(("example", "status", "line"), REFUSED)
def test_a_refusal_is_a_failure(tmp_path: Path, example: str, status: int, line: str) -> None:
    assert ending(tmp_path, example, status, line).status is Status.GUEST_FAILURE


@pytest.mark.parametrize(("example", "text"), WRONG)
def test_a_wrong_result_is_a_failure(tmp_path: Path, example: str, text: str) -> None:
    outcome = ending(tmp_path, example, 0, text)
    assert outcome.status is Status.GUEST_FAILURE
    assert text.splitlines()[0] in outcome.evidence


@pytest.mark.parametrize("example", sorted(path.stem for path in EXAMPLES.glob("*.yaml")))
def test_a_program_that_stops_half_way_is_a_failure(tmp_path: Path, example: str) -> None:
    """A silent abort(): gem5 v23.1 and later end with status 0, the normal cause and whole statistics."""
    assert ending(tmp_path, example, 0, "Opening file: graph").status is Status.GUEST_FAILURE


@pytest.mark.parametrize(("lines", "completed"), [(299067, True), (299066, False), (0, False)])
def test_page_rank_shows_its_end_by_a_line_for_each_node(tmp_path: Path, lines: int, completed: bool) -> None:
    """pagerank.cpp prints nothing last and writes result.out. coAuthorsDBLP.graph has 299067 nodes."""
    (tmp_path / "result.out").write_text("0.000003\n" * lines)
    assert ending(tmp_path, "pannotia_pagerank", 0, "Opening file: graph").completed is completed
