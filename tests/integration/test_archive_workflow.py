"""An archive on another machine: every table and figure again, byte for byte, and no simulation."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import gem5_project
import pytest
from gem5_project import SNAKEMAKE, Gem5Project

APUFLOW = Path(sys.executable).with_name("apuflow")
REPORT = "results/study/report.html"


def apuflow(project: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(APUFLOW), *arguments], cwd=project, capture_output=True, text=True, timeout=120
    )


def again(project: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Snakemake on a machine that has none of the tools of a simulation."""
    environment = {**os.environ, "PATH": f"{SNAKEMAKE.parent}:/usr/bin:/bin", "HOME": str(project)}
    return subprocess.run(
        [str(SNAKEMAKE), "--cores", "2", *arguments],
        cwd=project,
        capture_output=True,
        text=True,
        timeout=600,
        env=environment,
    )


@pytest.fixture(scope="module")
def study(new_project: Callable[[Path], Path]) -> Iterator[Gem5Project]:
    """A finished study of gem5 (through stand-ins, with a DNNMark of the site's own) and the preview."""
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="apuflow-test-") as directory:
        upstream = Path(directory) / "upstream"
        upstream.mkdir()
        project = gem5_project.make(new_project(Path(directory)), upstream, {"container": "host"})
        project.sweep("study", engines=["gem5", "preview"], axes={"num-compute-units": [4, 8]})
        done = project.run(REPORT)
        assert done.returncode == 0, done.stdout + done.stderr
        yield project


@pytest.fixture(scope="module")
def archive(study: Gem5Project) -> Path:
    done = apuflow(study.root, "archive", "pack", "study")
    assert done.returncode == 0, done.stderr
    return study.root / "archives/study.tar.zst"


def test_another_machine_makes_the_same_tables_without_a_simulation(
    study: Gem5Project, archive: Path, tmp_path: Path
) -> None:
    there = tmp_path / "there"
    assert apuflow(tmp_path, "archive", "unpack", str(archive), str(there)).returncode == 0
    upstream = study.root.parent / "upstream"
    upstream.rename(upstream.with_name("elsewhere"))
    try:
        tables = [
            path for path in (there / "results/study").rglob("*") if path.suffix in (".csv", ".parquet")
        ]
        before = {path: path.read_bytes() for path in tables}
        assert len(before) > 10
        for path in (there / "results/study").rglob("*"):
            if path.is_file():
                path.unlink()
        done = again(there, REPORT)
        assert done.returncode == 0, done.stdout + done.stderr
        assert {path: path.read_bytes() for path in tables} == before
        assert not (there / "logs/simulate").exists() and not (there / "logs/preview").exists()
        checked = apuflow(there, "archive", "check", str(archive), "--against", ".")
        assert checked.returncode == 0 and "byte for byte" in checked.stdout
    finally:
        upstream.with_name("elsewhere").rename(upstream)


def test_a_changed_table_is_found(archive: Path, tmp_path: Path) -> None:
    there = tmp_path / "there"
    apuflow(tmp_path, "archive", "unpack", str(archive), str(there))
    table = there / "results/study/softmax_fwd.csv"
    table.write_text(table.read_text().replace("gem5", "real", 1))
    checked = apuflow(there, "archive", "check", str(archive), "--against", ".")
    assert checked.returncode == 1 and "results/study/softmax_fwd.csv" in checked.stderr


def test_an_unfinished_study_is_refused_with_the_command(study: Gem5Project) -> None:
    study.sweep("unfinished", engines=["preview"])
    done = apuflow(study.root, "archive", "pack", "unfinished")
    assert done.returncode == 2
    assert "snakemake --cores all results/unfinished/report.html" in done.stderr
    assert "Traceback" not in done.stderr and not (study.root / "archives/unfinished.tar.zst").exists()


def test_bad_requests_end_in_a_message(study: Gem5Project, tmp_path: Path) -> None:
    for arguments in (["archive", "pack"], ["archive", "check", "x"], ["archive", "pack", "no_such_sweep"]):
        done = apuflow(study.root, *arguments)
        assert done.returncode == 2 and "Traceback" not in done.stderr
    (tmp_path / "x.tar.zst").write_bytes(b"nothing")
    done = apuflow(tmp_path, "archive", "unpack", "x.tar.zst", "there")
    assert done.returncode == 2 and "damaged" in done.stderr and not (tmp_path / "there").exists()
