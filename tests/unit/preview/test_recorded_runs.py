"""The preview against recorded gem5 runs of single kernels."""

from __future__ import annotations

from statistics import median

import pandas as pd
import pytest
from one_launch import traffic_of
from places import ROOT
from recorded_runs import predicted, runs

import apuflow
from apuflow.core.engines import PREVIEW_VERSION
from apuflow.core.errors import NotModelled
from apuflow.preview.kernels.facts import facts_of
from apuflow.preview.kernels.registry import profile
from apuflow.preview.step import alone
from apuflow.preview.tables import Launches
from apuflow.score.errors import score
from apuflow.score.runs import row_launch, row_machine, row_steps


@pytest.mark.parametrize(
    ("column", "starts", "least"),
    [
        ("kernel", ("MIOpenActive", "Col2Im2d", "sgemm"), 201),
        (
            "id",
            tuple(
                f"bn_spatial_bwd-{shape}-" for shape in ("4x16x12x12", "6x32x12x12", "10x16x6x6", "11x16x6x6")
            ),
            10,
        ),
    ],
    ids=["activations, col2im and matrix products", "spatial batch norm backward in registers"],
)
def test_instructions_are_those_of_gem5(column: str, starts: tuple[str, ...], least: int) -> None:
    rows = [row for row in runs() if row[column].startswith(starts)]
    assert len(rows) >= least
    for row in rows:
        assert profile(facts_of(row_launch(row), vega=False)).counts.instructions == float(
            row["instructions"]
        ), row["id"]


def test_stores_of_im2col_and_spills_of_batch_norm_are_those_of_gem5() -> None:
    """``TCC_Controller.WrVicBlk`` of the runs' statistics."""
    for start, writes in (
        ("conv_bwd-1x8x28x28k3p1s1o32.001-Im2d2Col-u2-wfs_per_simd10", 3528),
        ("bn100_fwd-100x64x1x1-u4", 115840),
    ):
        (row,) = runs(start)
        assert (
            traffic_of(alone(profile(facts_of(row_launch(row), vega=False))), row_machine(row)).tcc_writes
            == writes
        )


def test_dram_writes_of_inputs_that_the_cpus_l2_does_not_hold_are_those_of_gem5() -> None:
    """A copy of the CPU takes its L2 twice: 44 kernels of products with more than 1 MiB of inputs."""
    ratios = []
    for name in ("products", "networks"):
        table = pd.read_csv(ROOT / f"data/gem5_runs/{name}.csv", dtype=str)
        for cells in table.to_dict("records"):
            row = {str(key): value for key, value in cells.items()}
            try:
                machine = row_machine(row)
                (step,) = row_steps(row, machine)
            except NotModelled:
                continue
            loaded = [
                part.lines
                for part, left in zip(step.profile.streams, step.found.streams, strict=True)
                if part.kind == "load" and left.in_l2 + left.in_l3
            ]
            if sum(loaded) * 64 > 1 << 20:
                flow = traffic_of(step, machine)
                written = (flow.dram_writes + flow.queued_writes) * 64
                ratios.append(written / float(row["dram_bytes_written"]))
    assert len(ratios) == 44
    assert median(ratios) == pytest.approx(1.0, abs=0.1)


def test_a_launch_number_tells_the_matrix_products_of_a_layer_apart() -> None:
    facts = [
        facts_of(row_launch(runs(f"conv_bwd-2x4x16x16k5.00{number}-sgemm-u4")[0]), vega=False)
        for number in (2, 3)
    ]
    assert [[one.integer(name) for name in "mnk"] for one in facts] == [[100, 12, 256], [256, 100, 12]]


def test_a_matrix_product_without_its_layer_is_refused_with_the_column() -> None:
    (row,) = runs("fc_fwd-10x192x1x1-u4")
    scored = score(pd.DataFrame([{**row, "num_output": ""}]))
    assert list(scored.refused) == ["fc_fwd: a matrix product needs the layer's number of outputs"]
    products = score(pd.DataFrame([{**row, "engine": "gem5"}]))
    assert list(products.refused) == ["fc_fwd: rocBLAS's kernels are not those of the preview"]


def test_wavefront_slots_count_up_to_the_barrier_slots_as_in_gem5() -> None:
    """Workgroups of four wavefronts, on gem5 v23.0 with four barrier slots a compute unit.

    From 4 slots a SIMD on nothing changes (its cycles are equal to the last digit); fewer slots take longer.
    """
    rows = {int(row["wfs_per_simd"]): row for row in runs("relu_fwd-8x32x28x28-u2") if row["wfs_per_simd"]}
    measured = {slots: int(row["gpu_cycles"]) for slots, row in rows.items()}
    model = {slots: predicted(row) for slots, row in rows.items()}
    groups = {
        slots: int(
            Launches.of([alone(profile(facts_of(row_launch(row), vega=False)))], [row_machine(row)]).fitting[
                0
            ]
        )
        for slots, row in rows.items()
    }
    assert groups == {1: 1, 2: 2, 4: 4, 10: 4}
    assert measured[1] > measured[2] > measured[4] == measured[10]
    assert model[1] > model[2] > model[4] == model[10]


def test_the_rows_that_the_readme_shows_are_those_of_the_quickstart() -> None:
    """Units, cycles, occupancy, hit rate of the TCC, bytes read: a user who follows it compares them."""
    lines = [line for line in (ROOT / "README.md").read_text().splitlines() if line.startswith("| preview |")]
    shown = [
        [float(cell.replace(",", "")) for cell in (line.split("|")[k] for k in (2, 4, 5, 6, 7))]
        for line in lines
    ]
    assert [row[0] for row in shown] == [1, 4, 16, 64]
    found = apuflow.evaluate(
        "softmax_fwd", {"num-compute-units": [1, 4, 16, 64]}, {"n": 100}, release="v23.0", root=ROOT
    )
    columns = ["num_compute_units", "gpu_cycles", "occupancy", "tcc_hit_rate", "dram_bytes_read"]
    assert (
        found[columns].round({"occupancy": 3, "tcc_hit_rate": 3}).astype(float).to_numpy().tolist() == shown
    )


def test_the_changelog_or_a_fragment_names_the_version_of_the_preview() -> None:
    news = [ROOT / "CHANGELOG.md", *(ROOT / "changelog.d").glob("*.md")]
    assert any(f"Preview {PREVIEW_VERSION}: " in file.read_text() for file in news)
