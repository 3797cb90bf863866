"""Results beside published measurements."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import pandas as pd
import pytest
from places import ROOT
from scipy.stats import spearmanr

from apuflow.configure.suite import load_suite
from apuflow.core.errors import ConfigError
from apuflow.score.published import compare
from apuflow.suites.step import Choice

MEASURED = pd.read_csv(str(files("apuflow") / "data/published/deepbench_amd.csv"))


def items_of(suite: str, tmp_path: Path, factor: float = 1.0, power: float = 1.0) -> Path:
    """A table of items with the MI25's own times, scaled."""
    choice = Choice(direction="fwd" if suite == "deepbench_gemm" else "both")
    theirs = MEASURED[(MEASURED["suite"] == suite) & (MEASURED["gpu"] == "AMD MI25")].set_index("item")
    rows = []
    for step in load_suite(suite, ROOT).steps(choice):
        if step.group == "training":
            assert theirs["name"][step.item] == step.name
            times = factor * theirs[f"{step.phase}_ms"][step.item] ** power
            cells = {"item": step.item, "name": step.name, "op": step.op, "phase": step.phase}
            head = {"suite": suite, "engine": "preview"}
            rows.append({**head, **cells, "set": step.group, "repeats": 1, "total_ms": times})
    file = tmp_path / f"{suite}.csv"
    pd.DataFrame(rows).to_csv(file, index=False)
    return file


@pytest.mark.parametrize(
    ("suite", "count"), [("deepbench_gemm", 160), ("deepbench_convolution", 94), ("deepbench_recurrent", 53)]
)
def test_a_machine_that_is_slower_by_a_factor_has_the_same_shape(
    tmp_path: Path, suite: str, count: int
) -> None:
    [mine, vega] = compare(items_of(suite, tmp_path, factor=40))
    assert (mine.published, vega.published) == ("AMD MI25", "AMD Vega FE")
    assert mine.items == count
    assert mine.rank_correlation == pytest.approx(1)
    assert 0.9 < (vega.rank_correlation or 0) < 1
    if suite != "deepbench_gemm":
        assert mine.ratio == pytest.approx(mine.published_ratio)


def test_sorting_by_arithmetic_alone_is_the_base_line(tmp_path: Path) -> None:
    """A product MxNxK does 2 M N K operations, whatever its time: the value is SciPy's Spearman of both."""
    file = items_of("deepbench_gemm", tmp_path, power=-1)
    table = pd.read_csv(file)
    sizes = table["name"].str.extract(r"^(\d+)x(\d+)x(\d+)").astype(float)
    flop = table["flop"] = 2 * sizes.prod(axis=1)
    table.to_csv(file, index=False)
    theirs = 1 / table["total_ms"]
    [mine, _] = compare(file)
    assert mine.by_flops == pytest.approx(spearmanr(flop, theirs).statistic)
    assert (mine.rank_correlation or 0) < 0.9 < (mine.by_flops or 0)


def test_what_is_slow_there_and_fast_here_is_named(tmp_path: Path) -> None:
    [mine, _] = compare(items_of("deepbench_gemm", tmp_path, power=-1))
    assert mine.rank_correlation == pytest.approx(-1)
    # the MI25's slowest product, 265.6 ms, is the fastest here, and its fastest, 0.026 ms, the slowest
    assert ("8448x48000x2816 TN", 1, 160) in mine.displaced
    assert ("512x16x512 NN", 160, 1) in mine.displaced


def test_a_networks_backward_pass_is_put_beside_each_librarys(tmp_path: Path) -> None:
    file = tmp_path / "alexnet_owt.csv"
    cells = {"suite": "alexnet_owt", "engine": "preview", "item": 1, "name": "a", "op": "conv"}
    phases = {"forward": 2.0, "backward": 5.0}
    rows = [{**cells, "phase": name, "set": "", "repeats": 1, "total_ms": ms} for name, ms in phases.items()]
    pd.DataFrame(rows).to_csv(file, index=False)
    found = compare(file)
    assert {one.ratio for one in found} == {2.5}
    # cuDNN R4 on a Titan X: 27 ms forward, 53 ms backward
    assert found[0].published_ratio == pytest.approx(53 / 27)
    assert len(found) == 6


def test_other_tables_and_suites_are_refused(tmp_path: Path) -> None:
    other = tmp_path / "x.csv"
    other.write_text("a,b\n1,2\n")
    with pytest.raises(ConfigError, match="not the items"):
        compare(other)
    file = items_of("deepbench_gemm", tmp_path)
    file.write_text(file.read_text().replace("deepbench_gemm", "din"))
    with pytest.raises(ConfigError, match="deepbench_convolution"):
        compare(file)
