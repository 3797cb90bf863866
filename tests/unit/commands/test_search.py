"""``apuflow search``."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
import yaml
from sweep_texts import HEAD
from typer.testing import CliRunner, Result

from apuflow.cli import build_app, main
from apuflow.core.errors import ConfigError


def test_from_a_space_to_a_pareto_figure_and_a_sweep_for_gem5(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(root)
    axes = "axes: {num-compute-units: [2, 4, 8], num-tccs: [1, 2]}\n"
    (root / "configs/sweeps/space.yaml").write_text(HEAD + axes)
    arguments = ["search", "space", "-m", "gpu_cycles", "-m", "num_compute_units", "--figure", "front.svg"]
    done = CliRunner().invoke(build_app(), [*arguments, "--judge", "judged", "--best", "2"])
    assert done.exit_code == 0, done.output
    assert "all 6 points computed; 0 left out" in " ".join(done.output.split())
    drawn = pd.read_csv("front.csv")
    assert len(drawn) == 6 and drawn["best"].any()
    assert "none is better in both" in (root / "front.svg").read_text()
    judged = yaml.safe_load((root / "configs/sweeps/judged.yaml").read_text())["zip"][0]
    assert all(type(value) is int for value in judged["num-compute-units"])


def searched(*arguments: str) -> Result:
    return CliRunner().invoke(build_app(), ["search", "space", *arguments])


@pytest.fixture
def space(root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with the sweeps space and other."""
    monkeypatch.chdir(root)
    for name in ("space", "other"):
        (root / f"configs/sweeps/{name}.yaml").write_text(HEAD + "axes: {num-compute-units: [2, 4, 8]}\n")
    return root


def test_a_second_call_goes_on_and_does_not_begin_again(space: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before its tables are there it writes nothing; with them it adds the points that may be better."""
    judged = space / "configs/sweeps/judged.yaml"
    assert searched("--judge", "judged", "--best", "1").exit_code == 0
    first = judged.read_text()
    again = searched("--judge", "judged", "--best", "2")
    assert again.exit_code == 0 and "snakemake --cores all results/judged/report.html" in again.output
    assert judged.read_text() == first
    (units,) = yaml.safe_load(first)["zip"][0]["num-compute-units"]
    row = {"engine": "gem5-kernels", "workload": "softmax_fwd", "status": "completed", "flags": ""}
    results = pd.DataFrame([row | {"num_compute_units": units, "gpu_cycles": 1e9}])
    monkeypatch.setattr("apuflow.ask.judge.results_of", lambda *_: results)
    assert searched("--judge", "judged", "--best", "1").exit_code == 0
    units_now = yaml.safe_load(judged.read_text())["zip"][0]["num-compute-units"]
    assert units_now[0] == units and len(units_now) == 2


def test_a_sweep_of_the_users_is_never_taken_for_a_judge(space: Path) -> None:
    """Also where it has results."""
    (space / "results/other").mkdir(parents=True)
    (space / "results/other/softmax_fwd.csv").write_text("engine\n")
    before = (space / "configs/sweeps/other.yaml").read_text()
    done = searched("--judge", "other")
    assert isinstance(done.exception, ConfigError) and "there already" in str(done.exception)
    assert (space / "configs/sweeps/other.yaml").read_text() == before


def test_a_misspelt_column_is_named_with_what_is_meant(space: Path) -> None:
    error = searched("-m", "gpu_cycle * 2").exception
    assert isinstance(error, ConfigError) and "name 'gpu_cycle' is not defined" in str(error)
    assert "did you mean gpu_cycles" in str(error)


def test_an_unknown_column_is_answered_with_those_that_vary(space: Path) -> None:
    error = searched("-m", "cus * 2").exception
    assert isinstance(error, ConfigError) and str(error).endswith("; here: num_compute_units")


def test_a_wrong_value_is_named_before_the_lack_of_a_choice() -> None:
    done = CliRunner().invoke(build_app(), ["search", "softmax_fwd", "num-compute-units=4:64"])
    assert "a whole number is expected" in str(done.exception)


def test_a_directory_in_the_place_of_a_file_is_told_without_a_traceback(
    space: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["apuflow", "search", "space", "--csv", str(space)])
    with pytest.raises(SystemExit) as ended:
        main()
    told = capsys.readouterr().err
    assert ended.value.code == 2 and f"file:  {space}" in told and "Is a directory" in told


def test_a_figure_in_another_format_is_refused_before_the_search(space: Path) -> None:
    done = searched("--figure", "front.txt", "--judge", "judged")
    assert isinstance(done.exception, ConfigError)
    assert all(text in str(done.exception) for text in ("front.txt", ".svg, .png, .csv"))
    assert not (space / "configs/sweeps/judged.yaml").exists()
