"""Dispatch lists executed without gem5: what a real gem5 counted of the same kernels, and their results."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from launcher_layers import layer
from places import ROOT

from apuflow.dnnmark import parse
from apuflow.interpret.encodings import Instruction
from apuflow.kernels.interpreted import interpret_list
from apuflow.launcher.dispatch_list import Contents
from apuflow.launcher.plan import SGEMM_SOURCE, guest_run, kernel_source
from apuflow.launcher.reference import TOLERANCE, difference, expected_outputs
from apuflow.miopen import Row, launches
from apuflow.miopen.compiler import Compiler
from apuflow.miopen.objects import compile_object

RECORDED = ROOT / "data/gem5_runs/campaign.csv"
VECTOR = ("vop1", "vop2", "vop3", "vop3p", "vopc")


def _recorded(prefix: str) -> list[dict[str, str]]:
    """What gem5 v23.0 counted on gfx801 with this project's own product."""
    with RECORDED.open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["id"].startswith(prefix)]
    return [row for row in rows if row["kernel"] == "sgemm" and row["id"].endswith("-u4")]


@pytest.mark.parametrize("direction", ["fwd", "bwd"])
def test_instructions_are_as_many_as_gem5_counts_and_results_are_right(
    direction: str, clang: Compiler, tmp_path: Path
) -> None:
    text = layer("FullyConnected", (10, 192, 1, 1), num_output=80)
    found = launches(parse(text), direction, 4)  # type: ignore[arg-type]
    objects: dict[Row, Path] = {}
    for row in {kernel_source(launch) for launch in found}:
        objects[row] = tmp_path / f"{len(objects)}.o"
        compile_object(row, "gfx801", clang, SGEMM_SOURCE.parent, objects[row])
    run = guest_run(found, device="gfx801", objects=objects)
    done = interpret_list(run.contents)
    rows = _recorded(f"fc_{direction}-10x192x1x1")
    assert len(rows) == len(done.executed) == (1 if direction == "fwd" else 2)
    for counted, executed in zip(rows, done.executed, strict=True):
        vector = sum(count for each, count in executed.instructions.items() if _vector(each))
        assert (executed.wavefronts, executed.total, vector) == (
            int(counted["wavefronts"]),
            int(counted["instructions"]),
            int(counted["valu_insts"]),
        )
    expected = expected_outputs(run)
    for output in run.outputs:
        actual = done.dumps[output.path].view("float32")[: output.elements]
        assert difference(actual, expected[output.buffer]) <= TOLERANCE


def _vector(instruction: Instruction) -> bool:
    return instruction.encoding in VECTOR


def test_constant_contents_fill_a_buffer_with_their_word() -> None:
    assert Contents("constant", (0x3F800000,)).values(8).view("float32").tolist() == [1.0, 1.0]
