"""``apuflow energy``, and energy as what ``apuflow search`` minimises."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from result_frames import softmax_runs, statistics_runs
from sweep_texts import HEAD
from typer.testing import CliRunner

from apuflow.cli import build_app
from apuflow.core.errors import DescribedError
from apuflow_analysis import figures
from apuflow_analysis.tables import store

PARTS_SHOWN = ("issue", "lds", "dram", "all")
OWN = """\
title: mine
source: my paper
hardware: my GPU
coefficients:
- {part: lds, count: lds_accesses, pJ: 7, meaning: an access}
- {part: issue, count: instructions, pJ: 2, meaning: an instruction}
"""


def run(*arguments: str | Path) -> str:
    done = CliRunner().invoke(build_app(), [*map(str, arguments)])
    if done.exception is not None:
        raise done.exception
    return " ".join(done.output.split())


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Softmax on 1, 4 and 16 compute units: 7000 LDS accesses, 293900 instructions."""
    store.write(statistics_runs(), tmp_path / "t.csv", columns_json=tmp_path / "t.columns.json")
    return tmp_path / "t.csv"


def test_energy_of_a_table_says_that_it_is_relative(table: Path, tmp_path: Path) -> None:
    said = run("energy", table, "--csv", tmp_path / "e.csv")
    assert "relative; not validated on AMD" in said and " W" not in said
    rows = pd.read_csv(tmp_path / "e.csv").set_index(["point", "part"])
    frame = statistics_runs().set_index("point")
    for point in frame.index:
        whole = rows.loc[(point, "lds")]
        assert whole["low"] == pytest.approx(frame.loc[point, "energy_lds_low"])
        assert whole["high"] == pytest.approx(whole["gpujoule"])
        assert rows.loc[(point, "registers")]["gpujoule"] != rows.loc[(point, "registers")]["gpujoule"]


def test_files_of_ones_own_take_the_place_of_apuflows(table: Path, tmp_path: Path) -> None:
    cheap, dear = tmp_path / "cheap.yaml", tmp_path / "dear.yaml"
    cheap.write_text(OWN)
    dear.write_text(OWN.replace("pJ: 7", "pJ: 70"))
    run("energy", table, "--coefficients", cheap, "--coefficients", dear, "--csv", tmp_path / "e.csv")
    rows = pd.read_csv(tmp_path / "e.csv")
    found = {
        (part, end): rows[end][rows["part"] == part].to_numpy()
        for part in PARTS_SHOWN
        for end in ("low", "high")
    }
    assert found["lds", "low"] == pytest.approx(np.full(3, 7e-12 * 7000))
    assert found["lds", "high"] == pytest.approx(np.full(3, 70e-12 * 7000))
    assert found["issue", "high"] == pytest.approx(np.full(3, 2e-12 * 293900))
    parts = found["issue", "low"] + found["lds", "low"] + found["dram", "low"]
    assert found["all", "low"] == pytest.approx(parts)


def test_a_file_with_the_name_of_a_column_is_refused(table: Path, tmp_path: Path) -> None:
    (tmp_path / "low.yaml").write_text(OWN)
    with pytest.raises(DescribedError, match="name of the file") as caught:
        run("energy", table, "--coefficients", tmp_path / "low.yaml")
    assert caught.value.value == "low"


def test_a_count_that_does_not_exist_is_named(table: Path, tmp_path: Path) -> None:
    own = tmp_path / "own.yaml"
    own.write_text(OWN.replace("count: lds_accesses", "count: lds_acesses * 2"))
    with pytest.raises(DescribedError, match="lds_acesses") as caught:
        run("energy", table, "--coefficients", own)
    assert caught.value.key == "coefficients[0].count" and caught.value.file == str(own)


def test_a_search_minimises_energy(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root)
    axes = "axes: {tcp-size: [16kB, 64kB], tcc-size: [256kB, 1MB]}\n"
    (root / "configs/sweeps/space.yaml").write_text(HEAD + axes)
    run("search", "space", "-m", "energy", "-m", "edp_high", "--csv", "found.csv")
    found = pd.read_csv("found.csv")
    assert len(found) == 4 and (found["energy"] > 0).all()
    assert list(found["energy"]) == sorted(found["energy"])


def test_the_figure_has_the_interval_and_the_label() -> None:
    frame = statistics_runs()
    plot = figures.make("energy", frame)
    data = plot.data.set_index(["at", "part"])
    whole = data.xs("all", level="part")
    ends = frame.set_index("num_compute_units").loc[[1, 16]]
    assert list(whole["joules_low"]) == pytest.approx(list(ends["energy_low"]))
    middle = (whole["low"] + whole["high"]) / 2
    assert middle.iloc[0] == pytest.approx(1)
    parts = data.drop("all", level="part").groupby("at")[["low", "high"]].sum()
    assert list(parts["high"]) == pytest.approx(list(whole["high"]))
    assert "relative; not validated on AMD" in plot.notes


def test_a_table_without_counters_of_energy_has_no_figure() -> None:
    assert "energy" not in figures.applicable(softmax_runs())
