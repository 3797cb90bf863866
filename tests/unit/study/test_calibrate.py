"""Constants of the preview, fitted to runs of a release."""

from __future__ import annotations

from dataclasses import asdict, astuple, replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sweep_texts import HEAD, expand

from apuflow import preview
from apuflow.configure import load_release
from apuflow.configure.option_rules import defaults
from apuflow.core.errors import ConfigError
from apuflow.core.preview_constants import BOUNDS, RECORDED, RECORDED_RUNS, Constants
from apuflow.study.calibrate import Errors, Fit, calibrate
from apuflow.study.calibration_file import proven_runs, sweep_of_release, write_calibration
from apuflow.study.score import modelled, read_tables, recorded

OTHER = Constants(12.0, 60.0, 140.0, 90.0, 400.0, 55.0)


def sample(count: int, seed: int) -> pd.DataFrame:
    return read_tables(recorded()).sample(count, random_state=seed).reset_index(drop=True)


def cycles(frame: pd.DataFrame, constants: Constants) -> np.ndarray:
    """What a preview with these constants says of runs, GPU cycles."""
    return modelled(frame).predicted(replace(RECORDED, constants=constants))[0]


def test_constants_of_another_release_are_found_again() -> None:
    """Runs "made" by a preview with other constants: each is found to 2 % of its range."""
    frame = modelled(sample(60, 3)).frame
    frame["gpu_cycles"] = cycles(frame, OTHER)
    found = calibrate(frame)
    assert not found.kept
    sizes = [high - low for low, high in BOUNDS.values()]
    for value, true, size in zip(astuple(found.constants), astuple(OTHER), sizes, strict=True):
        assert abs(value - true) < 0.02 * size
    assert found.held_out.before > 0.05 and found.held_out.after < 0.005


def test_runs_of_v23_leave_its_constants_as_they_are() -> None:
    """Half of the recorded runs: nothing that they say makes the other half worse."""
    frame = read_tables(recorded())
    half = np.random.default_rng(14).random(len(frame)) < 0.5
    found = calibrate(frame[half].reset_index(drop=True))
    other = modelled(frame[~half].reset_index(drop=True)).frame
    measured = pd.to_numeric(other["gpu_cycles"]).to_numpy(dtype=float)
    before, after = (
        np.abs(cycles(other, constants) / measured - 1).mean()
        for constants in (RECORDED.constants, found.constants)
    )
    assert after <= before
    assert found.kept and found.constants == Constants()


def test_too_few_runs_are_refused() -> None:
    with pytest.raises(ConfigError, match="too few runs to fit to"):
        calibrate(sample(10, 1))


def test_the_model_says_how_many_runs_it_was_made_with() -> None:
    assert len(read_tables(recorded())) == RECORDED_RUNS


FITTED = Fit(OTHER, False, Errors(0.2, 0.1), Errors(0.21, 0.11), ("softmax_fwd/u4-1", "softmax_fwd/u8-2"))
HASHES = {"softmax_fwd/u4-1": "ab", "softmax_fwd/u8-2": "cd", "pool_fwd/u4-3": "ef"}
SWEEP = HEAD + "release: v23.1\nlayer: {n: 100, c: 1000}\n"


def test_a_calibration_changes_rows_and_names_of_points(root: Path) -> None:
    """Before, the row says that nobody looked at runs of its release; after, whose constants it has."""
    frame = preview.run(before := expand(root, SWEEP), defaults(preview.RELEASE))
    assert "v23.1 as release of gem5 (measured v23.0, v24.0)" in frame.iloc[0]["unmeasured"]
    assert str(before[0].calibration) == "v23.0, 608 runs"
    write_calibration("v23.1", FITTED, HASHES, root)
    after = expand(root, SWEEP)
    again = preview.run(after, defaults(preview.RELEASE))
    assert after[0].id != before[0].id
    assert str(after[0].calibration) == "v23.1, 2 runs"
    assert "as release of gem5" not in again.iloc[0]["unmeasured"]
    assert again.iloc[0]["gpu_cycles"] > frame.iloc[0]["gpu_cycles"]


def test_points_of_the_release_that_the_preview_was_made_after_need_none(root: Path) -> None:
    (point,) = expand(root, SWEEP.replace("v23.1", "v23.0"))
    assert point.calibration == RECORDED and point.calibration.own


def test_a_calibration_replaces_the_one_before_and_nothing_else(root: Path) -> None:
    file = root / "configs/gem5/v23.1.yaml"
    text = file.read_text()
    write_calibration("v23.1", FITTED, HASHES, root)
    once = file.read_text()
    assert once.startswith(text.rstrip())
    write_calibration("v23.1", FITTED, HASHES, root)
    assert file.read_text() == once
    known = load_release("v23.1", root).preview
    assert known is not None
    assert known.constants.model_dump() == asdict(OTHER)
    assert known.runs == {"softmax_fwd/u4-1": "ab", "softmax_fwd/u8-2": "cd"}
    assert (known.held_out.before, known.held_out.after) == (0.21, 0.11)
    file.write_text(once.replace("tcc_steps: 60.0", "tcc_steps: 1000.0"))
    with pytest.raises(ConfigError, match="150"):
        load_release("v23.1", root)
    file.write_text(text + "preview: {}\n")
    with pytest.raises(ConfigError, match="did not write"):
        write_calibration("v23.1", FITTED, HASHES, root)


def test_the_sweep_of_another_release_is_a_copy(root: Path) -> None:
    assert sweep_of_release("v23.0", root) == "calibration"
    assert sweep_of_release("v24.0", root) == "calibration_v24.0"
    text = (root / "configs/sweeps/calibration_v24.0.yaml").read_text()
    assert "\nrelease: v24.0\nmachine: apu-gfx902\n" in text


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        ("v22.1,completed,", "of release v22.1: 1"),
        ("v23.0,timeout,", "status timeout: 1"),
        ("v23.0,completed,wrong results: y differs", "flag 'wrong results': 1"),
        ("v23.0,completed,tcp x; another gem5: release", "flag 'another gem5': 1"),
        ("v23.0,completed,", "its run is not beside the table: 1"),
    ],
)
def test_runs_that_prove_nothing_are_left_out(tmp_path: Path, cells: str, said: str) -> None:
    table = tmp_path / "t.csv"
    table.write_text(
        f"engine,workload,point,release,status,flags\ngem5-kernels,softmax_fwd,u4-1,{cells}\n"
        "preview,softmax_fwd,u4-2,v23.0,completed,\n"
    )
    with pytest.raises(ConfigError, match=r"no proven run of v23\.0") as error:
        proven_runs("v23.0", [table])
    assert said in str(error.value)


def test_a_table_without_runs_proves_nothing() -> None:
    with pytest.raises(ConfigError, match="nothing proves its numbers"):
        proven_runs("v23.0", [recorded()[0]])
