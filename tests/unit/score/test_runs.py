"""Results of runs, scored kernel by kernel."""

from __future__ import annotations

import json
import lzma
from dataclasses import asdict
from pathlib import Path

import pytest
from launcher_layers import layer
from places import GEM5_RUNS, ROOT
from recorded_runs import predicted, runs
from run_records import run_record
from typer.testing import CliRunner

from apuflow.cli import build_app
from apuflow.configure import load_release
from apuflow.core.errors import ConfigError
from apuflow.score.errors import read_runs, score


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with the run of a convolution by engine gem5-kernels: two images, two kernels each."""
    directory = tmp_path / "runs/gem5-kernels/conv_fwd/v23.0-12345678"
    directory.mkdir(parents=True)
    statistics = lzma.decompress((GEM5_RUNS / "dispatches/conv_fwd.txt.xz").read_bytes())
    (directory / "stats.txt").write_bytes(statistics)
    keys = {"conv_mode": "cross_correlation", "num_output": 12, "kernel_size": 5, "pad": 2, "stride": 1}
    columns = {"kernel": "Im2d2Col", "grid": [2048, 1, 1], "workgroup": [256, 1, 1]}
    product = {"kernel": "sgemm", "grid": [256, 16, 1], "workgroup": [16, 16, 1]}
    record = run_record(
        point="v23.0-12345678",
        release="v23.0",
        release_facts=asdict(load_release("v23.0", ROOT).facts),
        identity={"config": layer("Convolution", (2, 4, 16, 16), **keys)},
        options={"num-compute-units": 4, "gpu-clock": "1GHz", "dgpu": False},
        launches=[columns, product] * 2,
    )
    (directory / "run.json").write_text(json.dumps(record))
    table = tmp_path / "results/kernels/conv_fwd.csv"
    table.parent.mkdir(parents=True)
    table.write_text(
        "engine,workload,point,status,gpu_cycles\n"
        "gem5-kernels,conv_fwd,v23.0-12345678,completed,200000\n"
        "preview,conv_fwd,v23.0-87654321,completed,200000\n"
        "gem5-kernels,conv_fwd,v23.0-deadbeef,timeout,\n"
    )
    return tmp_path


def test_a_result_table_is_scored_kernel_by_kernel_through_its_runs(project: Path) -> None:
    frame = read_runs(project / "results/kernels/conv_fwd.csv")
    assert "refusal" not in frame, list(frame["refusal"])
    assert list(frame["kernel"]) == ["Im2d2Col", "sgemm"]
    alone = [runs(f"conv_fwd-2x4x16x16k5.00{number}-")[0] for number in (0, 1)]
    found, cycles = score(frame).frame["predicted"].tolist(), frame["gpu_cycles"].tolist()
    assert found == pytest.approx(cycles, rel=0.12)
    # The preview and gem5 agree by how much less than alone the first takes; alone the product is 23 % off.
    less = cycles[0] / float(alone[0]["gpu_cycles"])
    assert found[0] / predicted(alone[0]) == pytest.approx(less, abs=0.15)
    # A kernel after others finds pages translated and data in caches: it takes less time than alone.
    for measured, row in zip(frame["gpu_cycles"], alone, strict=True):
        assert 0.5 * float(row["gpu_cycles"]) < measured < 1.1 * float(row["gpu_cycles"])
    done = CliRunner().invoke(build_app(), ["score", str(project / "results/kernels/conv_fwd.csv"), "--json"])
    assert done.exit_code == 0
    assert {row["primitive"]: row["runs"] for row in json.loads(done.stdout)}["conv_fwd"] == 2


def test_a_table_without_its_runs_says_so(project: Path) -> None:
    (project / "runs").rename(project / "elsewhere")
    with pytest.raises(ConfigError, match="directories of the table's runs are not there"):
        read_runs(project / "results/kernels/conv_fwd.csv")


def test_a_run_that_says_nothing_of_its_release_is_refused(project: Path) -> None:
    file = project / "runs/gem5-kernels/conv_fwd/v23.0-12345678/run.json"
    record = json.loads(file.read_text())
    del record["release_facts"]
    file.write_text(json.dumps(record))
    scored = score(read_runs(project / "results/kernels/conv_fwd.csv"))
    assert list(scored.refused) == [
        "conv_fwd: the run's record does not say how many barrier slots its gem5 has"
    ]


def test_a_run_of_another_network_is_refused(project: Path) -> None:
    file = project / "runs/gem5-kernels/conv_fwd/v23.0-12345678/run.json"
    record = json.loads(file.read_text())
    record["identity"]["config"] = layer("Softmax", (6, 40, 1, 1))
    file.write_text(json.dumps(record))
    scored = score(read_runs(project / "results/kernels/conv_fwd.csv"))
    assert list(scored.refused) == ["conv_fwd: the run's launches are not those that the network has now"]
