"""``apuflow list``, and completion of names and keys."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from apuflow.cli import build_app
from apuflow.configure.loading import machine_names, suite_names, sweep_names, workload_names
from apuflow.core.errors import ConfigError
from apuflow.core.figures import FIGURE_NAMES


@pytest.fixture(autouse=True)
def _project(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root)
    monkeypatch.setenv("COLUMNS", "200")


def output(*arguments: str) -> str:
    done = CliRunner().invoke(build_app(), ["list", *arguments])
    assert done.exit_code == 0, done.exception
    return done.output


def test_every_name_is_listed() -> None:
    for plural, known in (
        ("workloads", workload_names()),
        ("suites", suite_names()),
        ("machines", machine_names()),
        ("sweeps", sweep_names()),
        ("figures", FIGURE_NAMES),
    ):
        rows = json.loads(output(plural, "--json"))
        assert [next(iter(row.values())) for row in rows] == list(known)
        assert all(row["what"] for row in rows)


def test_keys_of_a_layer_have_meaning_values_and_default(root: Path) -> None:
    """DNNMark's dnn_param.h: windows of 3 with a stride of 2 and no padding, the largest value."""
    rows = {row["key"]: row for row in json.loads(output("operations", "pooling", "--json"))}
    defaults = {key: rows[key]["default"] for key in ("kernel_size", "stride", "pad", "pool_mode")}
    assert defaults == {"kernel_size": "3", "stride": "2", "pad": "0", "pool_mode": "max"}
    assert rows["pool_mode"]["values"] == "max, avg"
    assert rows["kernel_size"]["what"] == "size of the window"


def test_keys_of_a_workload_have_its_own_values(root: Path) -> None:
    """The file's; 126 images of 256x256 pixels in conv.dnnmark."""
    rows = {row["key"]: row["value"] for row in json.loads(output("workloads", "conv_fwd", "--json"))}
    assert (rows["n"], rows["h"], rows["num_output"]) == ("126", "256", "32")
    composed = {row["key"]: row["value"] for row in json.loads(output("workloads", "alexnet", "--json"))}
    assert composed["conv1.num_output"] == "96" and "num_output" not in composed


def test_a_table_goes_into_a_file_as_json_has_it(root: Path) -> None:
    output("options", "--csv", "options.csv")
    lines = (root / "options.csv").read_text().splitlines()
    assert len(lines) == 1 + len(json.loads(output("options", "--json")))


def test_one_option_is_found_whatever_its_dashes() -> None:
    assert "default: 4" in output("options", "num_compute_units")
    done = CliRunner().invoke(build_app(), ["list", "options", "num-compute-unit"])
    assert isinstance(done.exception, ConfigError) and "num-compute-units" in str(done.exception)


def test_a_file_with_a_mistake_leaves_the_others_listed(root: Path) -> None:
    (root / "configs/machines/broken.yaml").write_text("options: {num-compute-units: 8}\n")
    done = CliRunner().invoke(build_app(), ["list", "machines"])
    assert "apu-gfx801" in done.stdout
    assert isinstance(done.exception, ConfigError) and "broken.yaml" in str(done.exception)


def completed(*words: str) -> list[str]:
    """What the shell is offered for the last word."""
    typed = {"COMP_WORDS": " ".join(("apuflow", *words)), "COMP_CWORD": str(len(words))}
    command = [str(Path(sys.executable).with_name("apuflow"))]
    done = subprocess.run(
        command,
        env={**os.environ, **typed, "_APUFLOW_COMPLETE": "complete_bash"},
        capture_output=True,
        text=True,
    )
    return done.stdout.split()


def test_the_shell_completes_names_and_keys(root: Path) -> None:
    mine = yaml.safe_dump({"description": "x", "options": {"num-compute-units": 8}})
    (root / "configs/machines/mine.yaml").write_text(mine)
    assert completed("ask", "softmax_fwd,pool_f") == ["softmax_fwd,pool_fwd"]
    assert completed("ask", "pool_fwd", "pool_m") == ["pool_mode=", "pool_mode=max", "pool_mode=avg"]
    assert completed("ask", "pool_fwd", "machine=apu-gfx801,mi") == [
        f"machine=apu-gfx801,{name}" for name in machine_names() if name.startswith("mi")
    ]
    assert "machine=apu-gfx801,mine" in completed("ask", "pool_fwd", "machine=apu-gfx801,mi")
    assert completed("plan", "quicks") == ["quickstart"]
    assert completed("list", "operations", "Pool") == ["Pooling"]
