"""A release's facts come from its file: a copy of it under another name behaves as the original does."""

from __future__ import annotations

import json
import lzma
from pathlib import Path
from typing import Any

import pytest
from places import GEM5_RUNS
from run_records import run_record
from sweep_texts import HEAD, expand

from apuflow import preview
from apuflow.configure import option_rules
from apuflow.configure.point import Point
from apuflow.core.errors import ConfigError
from apuflow.engines.simulated import gem5_of, point_facts
from apuflow.prepare.builds import Gem5Record
from apuflow.prepare.tools import Toolset
from apuflow_analysis.tables import tables
from apuflow_analysis.tables.kernels import kernel_table

FORKS = {"v23.0": "mygem5", "v23.1": "v23.0-ours"}
"""Release to the name of its copy; one of them looks like another release."""
DISPATCHED = HEAD.replace("preview", "gem5-kernels").replace("softmax_fwd", "conv_fwd")


@pytest.fixture
def forked(root: Path) -> Path:
    """A project with a copy of two releases' files."""
    for release, fork in FORKS.items():
        text = (root / f"configs/gem5/{release}.yaml").read_text()
        (root / f"configs/gem5/{fork}.yaml").write_text(text)
    return root


def change(root: Path, release: str, old: str, new: str) -> None:
    file = root / f"configs/gem5/{release}.yaml"
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


def by_release(root: Path, head: str, *names: str, layer: str = "n: 400") -> dict[str, Point]:
    text = f"{head}layer: {{{layer}}}\naxes: {{release: [{', '.join(names)}]}}\n"
    return {point.release: point for point in expand(root, text)}


def cycles(points: dict[str, Point]) -> dict[str, float]:
    return dict(
        zip(
            points,
            preview.run(list(points.values()), option_rules.defaults("v23.0"))["gpu_cycles"],
            strict=True,
        )
    )


def test_the_preview_of_a_copied_release_is_that_of_the_original(forked: Path) -> None:
    names = [*FORKS, *FORKS.values()]
    points = by_release(forked, HEAD, *names)
    found = cycles(points)
    assert found["v23.0"] != found["v23.1"]
    for release, fork in FORKS.items():
        assert found[fork] == found[release]
        assert points[fork].identity == points[release].identity


def test_barrier_slots_are_those_of_the_file_and_part_of_a_preview_points_identity(forked: Path) -> None:
    before = by_release(forked, HEAD, "mygem5", "v23.1")
    change(forked, "mygem5", "barrier_slots: 4", "barrier_slots: 16")
    after = by_release(forked, HEAD, "mygem5", "v23.1")
    assert cycles(after)["mygem5"] == cycles(before)["v23.1"]
    assert after["mygem5"].identity != before["mygem5"].identity
    assert after["v23.1"].identity == before["v23.1"].identity


@pytest.mark.parametrize("fact", ["keeps_cache_statistics: true", "gem5_version: 23.0.1.0"])
def test_facts_of_reading_statistics_change_no_identity(forked: Path, fact: str) -> None:
    [before] = by_release(forked, DISPATCHED, "mygem5", layer="n: 2").values()
    change(
        forked, "mygem5", fact, {"k": "keeps_cache_statistics: false", "g": "gem5_version: 1.0.0"}[fact[0]]
    )
    [after] = by_release(forked, DISPATCHED, "mygem5", layer="n: 2").values()
    assert after.identity == before.identity
    assert after.release_facts != before.release_facts


def recorded(directory: Path, point: Point) -> Path:
    """The run of a convolution's four kernels on gem5 v23.0.1.0, as if this point had asked for it."""
    directory.mkdir()
    statistics = lzma.decompress((GEM5_RUNS / "dispatches/conv_fwd.txt.xz").read_bytes())
    (directory / "stats.txt").write_bytes(statistics)
    columns = {"kernel": "Im2d2Col", "grid": [2048, 1, 1], "workgroup": [256, 1, 1]}
    product = {"kernel": "sgemm", "grid": [256, 16, 1], "workgroup": [16, 16, 1]}
    facts: dict[str, Any] = vars(point_facts(point))
    record = run_record(
        **facts | {"release_facts": vars(facts["release_facts"])},
        evidence="Exiting because exiting with last active thread context",
        launches=[columns, product] * 2,
    )
    (directory / "run.json").write_text(json.dumps(record))
    return directory


def test_the_statistics_of_a_copied_release_are_read_as_those_of_the_original(
    forked: Path, tmp_path: Path
) -> None:
    """v23.0 does not reset its caches' counts.

    The four kernels hit 4, 1,323, 4 and 1,812 times in the TCP. gem5 prints 4, 1,327, 1,331 and 3,143.
    """
    points = by_release(forked, DISPATCHED, *FORKS, *FORKS.values(), layer="n: 2")
    rows = tables.build([recorded(tmp_path / name, point) for name, point in points.items()])
    hits = dict(zip(rows["release"], rows["tcp_hits"], strict=True))
    assert hits == {"v23.0": 3143, "mygem5": 3143, "v23.1": 5805, "v23.0-ours": 5805}
    assert not [text for text in rows["flags"] if "release_facts" in text]
    parts = {name: kernel_table(tmp_path / name) for name in points}
    assert list(parts["mygem5"]["tcp_hits"]) == [4, 1323, 4, 1812]
    assert list(parts["mygem5"]["tcp_misses"]) == [1680, 2122, 1680, 2188]
    for release, fork in FORKS.items():
        assert list(parts[fork]["tcp_hits"]) == list(parts[release]["tcp_hits"])


def test_a_record_that_says_nothing_of_its_release_tells_what_is_unknown(
    forked: Path, tmp_path: Path
) -> None:
    [point] = by_release(forked, DISPATCHED, "v23.0", layer="n: 2").values()
    directory = recorded(tmp_path / "old", point)
    record = json.loads((directory / "run.json").read_text())
    del record["release_facts"]
    (directory / "run.json").write_text(json.dumps(record))
    [row] = tables.build([directory]).to_dict("records")
    assert row["tcp_hits"] != row["tcp_hits"] and row["tcc_demand_misses"] != row["tcc_demand_misses"]
    assert row["kernels_launched"] == 4 and row["gpu_cycles"] == 121436
    assert "no release_facts in run.json: unknown are" in row["flags"] and "tcp_hits" in row["flags"]


def test_a_copied_release_runs_as_the_original_does(forked: Path, tmp_path: Path) -> None:
    files = {"binary": str(tmp_path / "gem5.opt"), "script": str(tmp_path / "apu_se.py")}
    record = Gem5Record.model_construct(**files)  # type: ignore[arg-type]
    for release, fork in FORKS.items():
        original, copy = (Toolset(name, forked).release for name in (release, fork))
        assert gem5_of(record, copy) == gem5_of(record, original)
        for gfx in original.gfx:
            assert copy.instruction_defects(gfx) == original.instruction_defects(gfx) != ()


def test_a_copied_release_has_the_options_that_it_names(forked: Path) -> None:
    change(forked, "mygem5", "options_of: v23.0", "options_of: v23.1")
    points = by_release(forked, HEAD, "mygem5", "v23.0", "v23.1")
    cpus = {name: point.options["cpu-type"] for name, point in points.items()}
    assert cpus == {"mygem5": "X86TimingSimpleCPU", "v23.0": "TimingSimpleCPU", "v23.1": "X86TimingSimpleCPU"}
    change(forked, "mygem5", "options_of: v23.1", "options_of: mygem5")
    with pytest.raises(ConfigError, match=r"(?s)mygem5\.yaml.*options_of.*one of v21\.1"):
        by_release(forked, HEAD, "mygem5")
