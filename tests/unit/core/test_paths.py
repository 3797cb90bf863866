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
        ("results/mine/sampled.csv", {"under": "mine/", "sampled": "sampled"}),
        ("results/sampled.totals.csv", {"under": "", "sampled": "sampled.totals"}),
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


def test_paths_are_those_that_users_know() -> None:
    """As README and docs name them: a change of one is a change for every user."""
    assert paths.sweep_file("mine") == "configs/sweeps/mine.yaml"
    assert paths.workload_file("softmax_fwd") == "configs/workloads/softmax_fwd.yaml"
    assert paths.machine_file("apu-gfx801") == "configs/machines/apu-gfx801.yaml"
    assert paths.release_file("v22.1") == "configs/gem5/v22.1.yaml"
    assert (
        paths.run_record("gem5", "softmax_fwd", "u4-c49aa14c") == "runs/gem5/softmax_fwd/u4-c49aa14c/run.json"
    )
    assert paths.preview_record("mine", "conv_fwd", "5") == "runs/preview/conv_fwd/mine.v5/run.json"
    assert paths.kernel_object("gfx801", "a-1") == "cachefiles/objects/gfx801/a-1.o"
    assert paths.kernel_database("v22.1", "0123", "gfx801_4.ukdb") == "cachefiles/v22.1/0123/gfx801_4.ukdb"
    assert paths.mmap_file(4096) == "build/inputs/mmap-4096.bin"
    assert paths.log("runs", "gem5", "u4") == "logs/runs/gem5/u4.log"


@pytest.mark.parametrize(("sweep", "under"), [("default", ""), ("mine", "mine/")])
def test_results_of_the_default_sweep_stand_directly_in_results(sweep: str, under: str) -> None:
    assert paths.under(sweep) == under
    assert paths.table(under, "softmax_fwd") == f"results/{under}softmax_fwd.csv"
    assert paths.table_columns(under, "softmax_fwd") == f"results/{under}softmax_fwd.columns.json"
    assert paths.figure(under, "speedup") == f"results/{under}figures/speedup.svg"
    assert paths.report(under) == f"results/{under}report.html"


def test_a_call_without_arguments_is_a_rules_pattern() -> None:
    assert paths.run_record() == "runs/{engine}/{workload}/{point}/run.json"
    assert paths.table() == "results/{under}{workload}.csv"
    assert paths.run_dir("gem5", "*", "*") == "runs/gem5/*/*"


def test_a_matcher_takes_a_pattern_at_its_word() -> None:
    found = paths.matcher("a.b/{x}-{y}.c", y="[0-9]+")
    match = found.fullmatch("a.b/one-two-12.c")
    assert match is not None
    assert match.groupdict() == {"x": "one-two", "y": "12"}
    assert found.fullmatch("aXb/one-12.c") is None
    assert found.fullmatch("a.b/o/ne-12.c") is None


def test_checkouts_and_notes_are_named_by_what_they_are_of() -> None:
    commit = "5fa484e2e02604ad3a5bf01a38ad1f97626e8a52"
    assert paths.source_dir("gem5", commit) == "build/sources/gem5-5fa484e2e026"
    # SHA-256 of "abc", FIPS 180-4
    assert paths.hash_note("abc") == "build/hashes/ba7816bf8f01cfea.json"
