"""Paths as rules, globs and regular expressions know them."""

from __future__ import annotations

import pytest

from apuflow.core import paths


@pytest.mark.parametrize(
    ("path", "named"),
    [
        ("results/softmax_fwd.csv", {"under": "", "workload": "softmax_fwd", "extension": "csv"}),
        ("results/a.b/w.parquet", {"under": "a.b/", "workload": "w", "extension": "parquet"}),
        ("results/mine/w.columns.json", {"under": "mine/", "workload": "w"}),
        ("results/report.html", {"under": ""}),
        ("results/mine/report.html", {"under": "mine/"}),
        ("results/figures/speedup.svg", {"under": "", "figure": "speedup", "extension": "svg"}),
        ("results/mine/figures/speedup.csv", {"under": "mine/", "figure": "speedup", "extension": "csv"}),
        ("results/figures/figures/speedup.svg", None),
        ("results/mine/deeper/w.csv", None),
        ("results/mine/w.txt", None),
        ("runs/gem5/w/p/run.json", None),
        ("other/results/w.csv", None),
    ],
)
def test_targets_are_told_from_their_names(path: str, named: dict[str, str] | None) -> None:
    assert paths.target(path) == named


def test_run_records_are_told_from_their_names() -> None:
    records = paths.matcher(paths.run_record(), engine="gem5|gem5-kernels")
    found = records.fullmatch("runs/gem5-kernels/softmax_fwd/v22.1_u4-0123abcd/run.json")
    assert found is not None and found["workload"] == "softmax_fwd"
    for other in ("runs/preview/w/p/run.json", "runs/gem5/w/p/attempts/run.json", "runs/gem5/w/p/runxjson"):
        assert records.fullmatch(other) is None
