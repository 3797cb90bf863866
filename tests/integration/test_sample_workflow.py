"""A sweep with ``sampling`` by Snakemake itself; gem5 is SqueezeNet's recorded cycles."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import needs
import pandas as pd
import pytest
import yaml
from places import DATA, ROOT
from standins import repositories
from sweep_texts import write_suite_sweep

SNAKEMAKE = Path(sys.executable).with_name("snakemake")
REPORT = "results/net/report.html"
KEPT = {"preview.py", "sampled.py", "table.py", "report.py"}
"""Scripts of rules that this test is about; all others but that of rule simulate write empty files."""
RECORDED = dict(pd.read_csv(DATA / "squeezenet_gem5.csv")[["operation", "gpu_cycles"]].to_numpy())

EMPTY = """from pathlib import Path

for file in snakemake.output:
    Path(file).write_text("{}")
"""
SIMULATE = """import json, lzma, os, re, signal
from pathlib import Path

import pandas as pd
import psutil

DATA, RUNS = Path(os.environ["TEST_DATA"]), Path(os.environ["TEST_RUNS"])
axes = dict(snakemake.params.order["axes"])
if len(RUNS.read_text().split()) == int(os.environ["TEST_KILLED_AFTER"]):
    for process in psutil.Process().parents():
        if any(word.endswith("/snakemake") for word in process.cmdline()[:2]):
            process.send_signal(signal.SIGKILL)
    raise SystemExit(1)
recorded = pd.read_csv(DATA / "squeezenet_gem5.csv", index_col="operation")
ticks = 1000 * recorded.loc[axes["layer.operation"], "gpu_cycles"]
text = lzma.open(DATA / "gem5_runs/stats/softmax_fwd-100x1000x1x1-u4.txt.xz", "rt").read()
record = json.loads((DATA / "records/run.json").read_text())
record |= {"workload": "operations", "point": snakemake.wildcards.point, "axes": axes}
record |= {"launches": [], "results": None, "provenance": {}, "statistics": "stats.txt"}
file = Path(snakemake.output[0])
(file.parent / "stats.txt").write_text(re.sub(r"(shaderActiveTicks +)[0-9]+", rf"\\g<1>{ticks}", text))
file.write_text(json.dumps(record))
with RUNS.open("a") as log:
    log.write(snakemake.wildcards.point + "\\n")
"""


@pytest.fixture
def project(new_project: Callable[[Path], Path]) -> Iterator[Path]:
    """A project whose site has a gem5 of its own, which no rule starts; outside /tmp, as gem5 asks."""
    needs.CLANG.required_program()
    needs.C_COMPILER.required_program()
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="apuflow-test-") as directory:
        root = new_project(Path(directory))
        shutil.copytree(ROOT / "data", root / "data")
        for script in (root / "workflow/scripts").glob("*.py"):
            if script.name not in KEPT:
                script.write_text(SIMULATE if script.name == "simulate.py" else EMPTY)
        gem5 = repositories.make_gem5(Path(directory) / "gem5")
        binary = gem5.path / "gem5.opt"
        binary.write_text("#!/bin/sh\necho gem5 Simulator System\n")
        binary.chmod(0o755)
        site = {"container": "host", "gem5": {"binary": str(binary), "source": str(gem5.path)}}
        (root / "configs/site.yaml").write_text(yaml.safe_dump(site))
        write_suite_sweep(root, "squeezenet1_1", sampling={"bound": 0.1, "budget": 0.9})
        (root / "runs.txt").touch()
        yield root


def run(project: Path, *targets: str, killed_after: int = -1) -> subprocess.CompletedProcess[str]:
    environment = {
        **repositories.environment(),
        "TEST_DATA": str(DATA),
        "TEST_RUNS": str(project / "runs.txt"),
        "TEST_KILLED_AFTER": str(killed_after),
        "PYTHONPATH": os.pathsep.join([str(project / "workflow"), str(project / "analysis")]),
    }
    command = [str(SNAKEMAKE), "--cores", "1", *targets]
    return subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True, timeout=600)


def test_a_killed_sample_goes_on_and_its_report_says_what_holds(project: Path) -> None:
    killed = run(project, REPORT, killed_after=3)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert len((project / "runs.txt").read_text().split()) == 3 and not (project / REPORT).exists()
    done = run(project, REPORT)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "rounds of the sample" in done.stderr
    runs = (project / "runs.txt").read_text().split()
    assert len(runs) == len(set(runs))
    members = pd.read_csv(project / "results/net/sampled.csv")
    [total] = pd.read_csv(project / "results/net/sampled.totals.csv").to_dict("records")
    ran = members["measured"].notna()
    assert set(members["point"][ran]) == set(runs) and len(runs) < len(members) == 36
    assert members["predicted"][ran].sum() <= 0.9 * members["predicted"].sum()
    truth = (members["repeats"] * members["operation"].map(RECORDED)).sum()
    assert total["low"] <= truth <= total["high"] and total["half_width"] <= 0.1
    rows = pd.read_csv(project / "results/net/operations.csv").set_index("point")
    simulated = rows[rows["engine"] == "gem5-kernels"]["gpu_cycles"]
    assert simulated.to_dict() == members[ran].set_index("point")["measured"].to_dict()
    page = (project / REPORT).read_text()
    assert "10.0 % more or less: it holds" in page
    assert f"{len(runs)} of 36 distinct operations, {total['audited']} of them drawn at random" in page
    shutil.rmtree(project / "results")
    assert run(project, REPORT).returncode == 0
    assert (project / "runs.txt").read_text().split() == runs
    refused = run(project, "results/net/squeezenet1_1.csv")
    assert refused.returncode != 0 and "key:   sampling" in refused.stderr
