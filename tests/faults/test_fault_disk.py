"""A disk that is full at each stage: our message, nothing half at the target, and room makes it work."""

from __future__ import annotations

import contextlib
import re
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pandas as pd
import pytest
from places import ROOT
from standins import repositories

from apuflow.configure.point import Point
from apuflow.containers.host import HostEngine
from apuflow.core import paths
from apuflow.core.errors import ApuflowError
from apuflow.dnnmark import parse
from apuflow.engines import preview_batch
from apuflow.miopen import network_rows
from apuflow.miopen.database import build_database
from apuflow.miopen.objects import compile_object
from apuflow.plan.campaign import Campaign
from apuflow.plan.script import logged
from apuflow.prepare import data_file
from apuflow.prepare.builds import build_gem5
from apuflow.prepare.records import write_record
from apuflow.prepare.sources import SourceRecord, fetch_source
from apuflow_analysis.tables import store, tables

STANDINS = ROOT / "tests/standins"
FULL = r"No space left|no space|disk is full|disk full|disk I/O error"


class Disk:
    """A small disk of its own, full until it is emptied."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self._ballast = place / "ballast"
        self.fill()

    def fill(self) -> None:
        """To the last page."""
        with self._ballast.open("ab", buffering=0) as stream, contextlib.suppress(OSError):
            while True:
                stream.write(b"x" * 4096)

    def make_room(self) -> None:
        self._ballast.unlink()

    def holds(self) -> list[str]:
        """Files, but for empty ones that processes lock."""
        files = (path for path in self.place.rglob("*") if path.is_file() and path.suffix != ".lock")
        return [str(path.relative_to(self.place)) for path in files]


@pytest.fixture
def disk(tmp_path: Path, mounted: Callable[..., Path]) -> Disk:
    return Disk(mounted(tmp_path / "disk", "size=4m"))


def fails(stage: Callable[[], object], log: Path) -> str:
    """Run a stage as its rule does; returns what the rule's log says."""
    with pytest.raises(SystemExit), logged(log):
        stage()
    text = log.read_text()
    assert "Traceback" not in text, text
    return text


def test_full_disk_at_every_stage(disk: Disk, tmp_path: Path) -> None:
    place, log = disk.place, tmp_path / "log"
    upstream = repositories.make_gem5(tmp_path / "upstream")
    source = SourceRecord(path=str(upstream.path), commit=upstream.commit)
    objects = tmp_path / "object.o"
    objects.write_bytes(bytes(range(256)) * 400)
    points = Campaign(ROOT).points("quickstart", "softmax_fwd")
    frame = _table(points, tmp_path)
    row = network_rows(parse(str(points[0].work.text)), "fwd", 4)[0]
    stages: dict[str, tuple[Callable[[], object], Path]] = {
        "sources": (
            lambda: fetch_source(str(upstream.path), upstream.commit, place / "gem5"),
            place / "gem5",
        ),
        "record": (
            lambda: write_record(place / "record.json", source.model_copy(update={"path": "x" * 50_000})),
            place / "record.json",
        ),
        "data file": (lambda: data_file.write_mmap(place / "mmap.bin", 1 << 20), place / "mmap.bin"),
        "kernel database": (
            lambda: build_database(place / "gfx801_4.ukdb", {("a.cl.o", " -mcpu=gfx801"): _noise(objects)}),
            place / "gfx801_4.ukdb",
        ),
        "kernel object": (
            lambda: compile_object(
                row, "gfx801", repositories.clang(), STANDINS / "miopen/src/kernels", place / "k/softmax.o"
            ),
            place / "k/softmax.o",
        ),
        "preview": (
            lambda: preview_batch.write_batch(points * 40, place / "counters.parquet", place / "run.json"),
            place / "counters.parquet",
        ),
        "table": (
            lambda: store.write(frame, place / "t.csv", place / "t.parquet", place / "t.json"),
            place / "t.csv",
        ),
    }
    for name, (stage, target) in stages.items():
        log.unlink(missing_ok=True)
        said = fails(stage, log)
        assert re.search(FULL, said), f"{name}: {said}"
        assert not target.exists(), name
    left = [name for name in disk.holds() if name != "ballast" and not name.endswith(".log")]
    assert left == []
    disk.make_room()
    for _, (stage, target) in stages.items():
        stage()
        assert target.exists()


def _noise(file: Path) -> Path:
    """Content that does not compress."""
    import random

    file.write_bytes(random.Random(1).randbytes(100_000))
    return file


def _table(points: Sequence[Point], directory: Path) -> pd.DataFrame:
    preview_batch.write_batch(points, directory / "p/counters.parquet", directory / "p/run.json")
    return tables.build([directory / "p"])


def test_a_build_whose_disk_fills_up_leaves_no_record(tmp_path: Path, mounted: Callable[..., Path]) -> None:
    upstream = repositories.make_gem5(tmp_path / "upstream")
    checkout = mounted(tmp_path / "disk", "size=8m") / "gem5"
    subprocess.run(["cp", "-r", str(upstream.path), str(checkout)], check=True)
    source = SourceRecord(path=str(checkout), commit=upstream.commit)
    disk = Disk(checkout.parent)

    def build() -> object:
        # scons is found as a program; the stand-in's own is not on every PATH
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("PATH", repositories.environment()["PATH"])
            return build_gem5(
                source,
                "GCN3_X86",
                jobs=1,
                container=HostEngine(),
                image=None,
                project=tmp_path,
                log=tmp_path / "build.log",
            )

    with pytest.raises((ApuflowError, OSError)):
        build()
    disk.make_room()
    record = build()
    assert Path(record.binary).exists()  # type: ignore[attr-defined]
    assert paths.tool_record("v22.1", "gem5").startswith("build/")
