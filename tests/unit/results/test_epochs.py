"""Epochs and communication from the summary of a network, reckoned by hand."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from typer.testing import CliRunner

from apuflow.cli import build_app
from apuflow.results.epochs import epoch_numbers, epoch_text
from apuflow.suites.epoch import Ring

SUMMARY = """\
suite,engine,num_compute_units,direction,status,images,forward_ms,backward_ms,update_ms,params
mine,preview,4,both,completed,64,100,200,10,25000000
mine,preview,16,both,gem5_crash,64,,,,25000000
"""


def epoch(directory: Path, *arguments: str) -> tuple[str, list[dict[str, str]]]:
    """What ``apuflow results epoch`` prints and the numbers that it writes."""
    summary, numbers = directory / "mine.summary.csv", directory / "epoch.csv"
    summary.write_text(SUMMARY)
    done = CliRunner().invoke(
        build_app(), ["results", "epoch", str(summary), "--csv", str(numbers), *arguments]
    )
    assert done.exit_code == 0, done.output
    with numbers.open(newline="") as file:
        return done.output, list(csv.DictReader(file))


def test_an_iteration_is_its_phases_and_the_communication(tmp_path: Path) -> None:
    """100 MB of gradients over 8 devices at 16 GB/s: 14 steps of 1 us and 781.25 us."""
    said, [one, eight] = epoch(tmp_path, "--devices", "1", "--devices", "8", "--price", "24")
    assert "extrapolated from one simulated iteration" in said
    assert (one["devices"], float(one["communication_ms"])) == ("1", 0)
    assert float(one["iteration_ms"]) == pytest.approx(310)
    assert [float(eight[f"{phase}_ms"]) for phase in ("forward", "backward", "update")] == [100, 200, 10]
    assert float(eight["communication_ms"]) == pytest.approx(14 * 0.78225)
    assert float(eight["iteration_ms"]) == pytest.approx(320.9515)
    assert float(eight["overlapped_iteration_ms"]) == pytest.approx(310)
    assert float(eight["images_per_s"]) == pytest.approx(64 * 8 / 0.3209515)
    # 1,281,167 images are 2,503 iterations of 512
    assert float(eight["epoch_s"]) == pytest.approx(2503 * 0.3209515)
    assert float(eight["overlapped_cost"]) == pytest.approx(2503 * 0.310 / 3600 * 24)
    assert eight["basis"] == "extrapolated from one simulated iteration"


def test_an_epoch_says_how_much_of_its_iteration_is_unmeasured(tmp_path: Path) -> None:
    head, row, _ = SUMMARY.splitlines()
    summary = tmp_path / "mine.summary.csv"
    summary.write_text(f"{head},engine_version,unmeasured,unmeasured_share\n{row},preview 10,31,0.775\n")
    [found] = epoch_numbers(summary, "imagenet", Ring(1, 16e9, 1e-6))
    assert (found["engine_version"], found["unmeasured"]) == ("preview 10", "31")
    assert epoch_text(found)["unmeasured"] == "78% of the time"


def test_devices_of_the_sweep_are_not_those_of_the_epoch(tmp_path: Path) -> None:
    """Rows that differ in the sweep's devices alone are one iteration: the communication is reckoned here."""
    head, row, _ = SUMMARY.splitlines()
    lines = [head.replace("direction", "layer.devices,direction")]
    lines += [row.replace(",both", f",{devices},both") for devices in (1, 8)]
    summary = tmp_path / "mine.summary.csv"
    summary.write_text("\n".join(lines))
    [found] = epoch_numbers(summary, "imagenet", Ring(2, 16e9, 1e-6))
    assert found["devices"] == 2


def test_a_forward_pass_alone_has_no_epoch(tmp_path: Path) -> None:
    summary = tmp_path / "mine.summary.csv"
    summary.write_text(SUMMARY.replace(",200,10,", ",,,"))
    done = CliRunner().invoke(build_app(), ["results", "epoch", str(summary)])
    assert done.exit_code
    assert "iteration of training" in str(done.exception or done.output)
