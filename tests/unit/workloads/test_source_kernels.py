"""A workload to fill in from a source in OpenCL or HIP."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from apuflow.cli import build_app
from apuflow.configure import load_workload
from apuflow.configure.kernel_workload import KernelsWorkload
from apuflow.core.errors import ConfigError
from apuflow.miopen.compiler import Compiler, CompilerFailure
from apuflow.workloads.source_kernels import import_source

OPENCL = """\
#include "inc/shape.h"
kernel void count(global const uchar *data, global int *bins, local int *own, shape_t shape, int elements) {
    own[get_local_id(0)] = data[get_global_id(0)] * shape.x;
    atomic_add(&bins[own[get_local_id(0)] & 7], elements);
}
kernel __attribute__((reqd_work_group_size(16, 4, 1)))
void scale(global float4 *in, double a, constant float *table, int bins) {
    in[get_global_id(0)] *= (float)a * table[get_global_id(1)] + bins;
}
"""
HIP = """\
#include <hip/hip_runtime.h>
__global__ void saxpy(const float *x, float *y, float a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}
"""


@pytest.fixture
def source(tmp_path: Path, clang: Compiler) -> Path:
    (tmp_path / "inc").mkdir()
    (tmp_path / "inc/shape.h").write_text("typedef struct { int x, y, z; } shape_t;\n")
    (tmp_path / "kernel.cl").write_text(OPENCL)
    return tmp_path / "kernel.cl"


def loaded(root: Path) -> KernelsWorkload:
    workload = load_workload("mine", root)
    assert isinstance(workload, KernelsWorkload)
    return workload


def test_arguments_are_those_of_the_source(root: Path, source: Path) -> None:
    """``elements`` and ``bins`` have a meaning already; the structure has 12 bytes, ``float4 *`` floats."""
    files, gfx = import_source(source, "mine", root)
    assert [str(file.relative_to(root / "configs/workloads")) for file in files] == [
        *("mine.yaml", "mine/kernel.cl", "mine/inc/shape.h", "mine/mine_reference.py"),
    ]
    spec = loaded(root).spec
    assert {name: each.type for name, each in spec.buffers.items()} == {
        **{"data": "uchar", "bins": "int", "in": "float", "table": "float"}
    }
    assert set(spec.parameters) == {"elements", "elements_", "bins_"}
    first, second = spec.launches
    assert [first.kernel, list(first.workgroup or ())] == ["count", [64]]
    assert [second.kernel, list(second.workgroup or ())] == ["scale", [16, 4, 1]]
    assert [getattr(each, "bytes", each) for each in first.arguments[3:]] == ["00" * 12, "elements_"]
    assert getattr(second.arguments[1], "double", None) == 1.0
    assert "# outputs: [bins, in]" in files[0].read_text()
    assert gfx == "gfx801"


def test_what_is_written_fits_its_kernels(root: Path, source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root)
    (root / "saxpy.hip").write_text(HIP)
    for file, launches in ((str(source), 2), ("saxpy.hip", 1)):
        done = CliRunner().invoke(build_app(), ["new", "workload", "mine", "--from", file, "--force"])
        assert "next: fill them in, then apuflow check-kernels mine --gfx gfx801 --run" in done.output
        done = CliRunner().invoke(build_app(), ["check-kernels", "mine"])
        assert done.exit_code == 0 and "launches fit; no reference" in done.output, done.output
        assert len(loaded(root).spec.launches) == launches
    assert [str(each) for each in loaded(root).spec.buffers] == ["argument_0", "argument_1"]


def test_a_source_without_kernels_and_one_that_does_not_compile(root: Path, source: Path) -> None:
    source.write_text("int twice(int x) { return 2 * x; }\n")
    with pytest.raises(CompilerFailure, match="it holds no kernel"):
        import_source(source, "mine", root)
    source.write_text("kernel void broken( {\n")
    with pytest.raises(CompilerFailure, match="does not compile"):
        import_source(source, "mine", root)
    source.write_text('#include "../above.h"\nkernel void empty(void) {}\n')
    (source.parent.parent / "above.h").write_text("")
    with pytest.raises(ConfigError, match="above its directory"):
        import_source(source, "mine", root)
    assert not (root / "configs/workloads/mine.yaml").exists()
