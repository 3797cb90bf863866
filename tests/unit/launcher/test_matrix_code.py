"""What matrix instructions do and how long they take, and which of them a kernel has."""

from __future__ import annotations

import csv
import subprocess
from pathlib import Path

import needs
import pytest
from places import ROOT

from apuflow.core.errors import EngineError
from apuflow.core.matrix import COUNTED, matrix_cycles, matrix_peaks
from apuflow.launcher.defects import DefectName
from apuflow.launcher.matrix_code import matrices, matrix_code
from apuflow.launcher.object_changes import changed
from apuflow.miopen.compiler import host_compiler
from apuflow_analysis.counters.matrix import operations

CODE = """
typedef float f4 __attribute__((ext_vector_type(4)));
typedef float f16 __attribute__((ext_vector_type(16)));
typedef half h4 __attribute__((ext_vector_type(4)));
typedef short s4 __attribute__((ext_vector_type(4)));
__kernel void alike(__global f16 *d, __global h4 *a) {
    d[0] = __builtin_amdgcn_mfma_f32_32x32x8f16(a[0], a[1], d[0], 0, 0, 0);
    d[1] = __builtin_amdgcn_mfma_f32_32x32x8f16(a[2], a[3], d[1], 0, 0, 0);
}
__kernel void several(__global f4 *d, __global f16 *e, __global h4 *a, __global float *b) {
    d[0] = __builtin_amdgcn_mfma_f32_16x16x16f16(a[0], a[1], d[0], 0, 0, 0);
    e[0] = __builtin_amdgcn_mfma_f32_32x32x8f16(a[2], a[3], e[0], 0, 0, 0);
    d[1] = __builtin_amdgcn_mfma_f32_16x16x4f32(b[0], b[1], d[1], 0, 0, 0);
}
__kernel void brain(__global f16 *d, __global s4 *a) {
    d[0] = __builtin_amdgcn_mfma_f32_32x32x8bf16_1k(a[0], a[1], d[0], 0, 0, 0);
}
__kernel void none(__global float *d) { d[0] = d[1] * d[2]; }
"""


def test_cycles_are_four_for_each_pass_of_llvms_scheduling_model() -> None:
    """Recorded from llvm-mca 19 (reciprocal throughput), which knows gfx90a and gfx942."""
    with (ROOT / "tests/data/matrix_passes.csv").open() as file:
        rows = list(csv.DictReader(file))
    asked = [row for row in rows if "fp8" not in row["instruction"]]
    assert len(asked) == 51
    for row in asked:
        shape = matrices(row["instruction"])
        assert shape is not None, row
        assert matrix_cycles(row["gfx"], shape) == 4 * int(row["passes"]), row


@pytest.mark.parametrize(
    ("gfx", "peaks"),
    [
        ("gfx90a", {"f16": 1024, "f32": 256, "f64": 256, "i8": 1024}),
        ("gfx942", {"f16": 2048, "f32": 256, "f64": 256, "i8": 4096}),
    ],
)
def test_peaks_are_those_of_amds_white_papers(gfx: str, peaks: dict[str, int]) -> None:
    """Operations of a compute unit's four matrix cores per clock: CDNA 2 and CDNA 3 white papers, table 1."""
    assert {kind: 4 * peak for kind, peak in matrix_peaks(gfx).items()} == peaks
    assert matrix_peaks("gfx902") == {}


def test_a_product_has_two_operations_for_each_of_its_multiplications() -> None:
    """What gem5 v24.1 counted in Triton's products for gfx942: 2 m n k."""
    with (ROOT / "tests/data/matrix_gem5.csv").open() as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        shape = matrices(row["instruction"])
        assert shape is not None
        code = {COUNTED[shape.kind]: (shape.operations, matrix_cycles("gfx942", shape) or 0)}
        counted = {
            name: float(value) for name, value in row.items() if "_flops_" in name or "_lanes_" in name
        }
        found = operations(counted, code)
        product = 2 * int(row["m"]) * int(row["n"]) * int(row["k"])
        assert sum(found[f"matrix_flops_{kind}"] for kind in ("f16", "f32", "f64")) == product
        assert found["flops"] == product + float(row["vector_flops_f32"])
    assert len(rows) == 3


@pytest.mark.parametrize(("gfx", "cycles"), [("gfx90a", 64), ("gfx942", 32)])
def test_a_kernels_code_says_what_one_instruction_does(gfx: str, cycles: int, tmp_path: Path) -> None:
    """2 * 32 * 32 * 8 operations. gem5's counts do not tell two shapes of a type: that type is left out."""
    try:
        made = host_compiler(code_object=4, gfx=gfx)
    except EngineError:
        needs.LATER_CLANG.skip()
    source, out = tmp_path / "k.cl", tmp_path / "k.o"
    source.write_text(CODE)
    subprocess.run(made.command_line(("-O2",), gfx, source, out), check=True, capture_output=True)
    kernels = ["alike", "several", "brain", "none"]
    found = {
        "alike": {"f16": (16384, cycles)},
        "several": {"f32": (2048, 32)},
        "brain": {"f16": (16384, cycles)},
    }
    assert matrix_code(out, gfx, kernels) == found
    assert matrix_code(out, gfx, ["none"]) == matrix_code(out, "gfx906", kernels) == {}
    numbers: tuple[DefectName, ...] = ("matrix_numbers",)
    out.write_bytes(changed(out.read_bytes(), numbers)[0])
    assert matrix_code(out, gfx, kernels) == found
