"""HIP as programs of gem5-resources, HeteroSync and Rodinia write it, by the header of this project."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import needs
import pytest
from typer.testing import CliRunner

from apuflow.cli import build_app
from apuflow.core.errors import EngineError
from apuflow.core.gpus import GPUS
from apuflow.kernels.sources import compiled
from apuflow.miopen.elf import read_code_object

WHOLE = """
#include <stdio.h>
#include "hip/hip_runtime.h"
template <typename T> __global__ void square(T *out, const T *in, size_t n)
{
    for (size_t i = hipBlockIdx_x * hipBlockDim_x + hipThreadIdx_x; i < n; i += hipBlockDim_x * hipGridDim_x)
        out[i] = in[i] * in[i];
}
extern "C" __global__ void older(hipLaunchParm lp, float *a, int n)
{
    HIP_DYNAMIC_SHARED(float, tile)
    tile[hipThreadIdx_x] = a[hipThreadIdx_x];
    __syncthreads();
    a[hipThreadIdx_x] = tile[n - 1 - hipThreadIdx_x];
}
int main()
{
    float *a;
    if (hipMalloc(&a, 400) != hipSuccess)
        return 1;
    hipLaunchKernelGGL((square<float>), dim3(2), dim3(64), 0, 0, a, a, (size_t)100);
    older<<<1, 64, 256>>>(0, a, 64);
    hipLaunchKernel(older, dim3(1), dim3(64), 256, 0, a, 64);
    hipDeviceSynchronize();
    printf("PASSED\\n");
}
"""
LANES = """
#include <hip/hip_runtime.h>
static_assert(sizeof(float3) == 12 && alignof(float3) == 4 && sizeof(float4) == 16 && alignof(float4) == 16);
static_assert(sizeof(char4) == 4 && sizeof(double2) == 16 && alignof(double2) == 16 && sizeof(uint1) == 4);
extern "C" __global__ void lanes(float *a, double *d, unsigned int *u, float4 *v)
{
    int i = threadIdx.x;
    float x = a[i];
    for (int mask = 32; mask > 0; mask >>= 1)
        x += __shfl_xor(x, mask);
    d[i] = __shfl_down(d[i], 3u, 16) + __shfl_up(d[i], 1) + __shfl(d[i], 5, 8);
    u[i] = __popcll(__ballot(x > 1.0f)) + __popc(i) + __clz(i) + __ffs(i) + __any(i == 3) + __all(i < 3);
    atomicAdd(&d[64], 1.0);
    atomicAdd(&a[64], 1.0f);
    atomicInc(&u[64], 7u);
    atomicCAS(&u[65], 0u, 1u);
    v[i] = 2.0f * v[i] + make_float4(x, __expf(x), fminf(x, 1.0f), -v[i].x);
    __threadfence();
}
"""
CUDA = 'extern "C" __global__ void k(float *a) { a[blockIdx.x * blockDim.x + threadIdx.x] *= 2.0f; }\n'


@pytest.mark.usefixtures("clang")
@pytest.mark.parametrize("gfx", GPUS)
@pytest.mark.parametrize(
    ("name", "text", "kernels"),
    [
        ("whole.cpp", WHOLE, {"_Z6squareIfEvPT_PKS0_m", "older"}),
        ("lanes.hip", LANES, {"lanes"}),
        ("k.cu", CUDA, {"k"}),
    ],
)
def test_whole_programs_and_lanes_compile(
    name: str, text: str, kernels: set[str], gfx: str, tmp_path: Path
) -> None:
    if gfx == "gfx942":
        needs.LATER_CLANG.required_program()
    (tmp_path / name).write_text(text)
    code = compiled(name, "", gfx, tmp_path)
    assert set(read_code_object(code.read_bytes()).kernels) == kernels
    shutil.rmtree(code.parent)


@pytest.mark.usefixtures("clang")
@pytest.mark.parametrize(
    ("call", "fix"),
    [
        ("__shfl_down_sync(~0u, a[0], 1)", "write __shfl_down, a wavefront has 64"),
        ("__syncwarp()", "leave it out"),
        ("tex1Dfetch(a, 3)", "read the buffer by a pointer"),
        ('printf("x")', "write to a buffer"),
        ("cudaMalloc(a, 3)", "hipify-perl"),
    ],
)
def test_what_is_not_there_is_refused_with_the_fix(call: str, fix: str, tmp_path: Path) -> None:
    text = f"#include <hip/hip_runtime.h>\n__global__ void k(int *a) {{ a[0] = {call}; }}\n"
    (tmp_path / "k.hip").write_text(text)
    with pytest.raises(EngineError) as caught:
        compiled("k.hip", "", "gfx801", tmp_path)
    assert fix in str(caught.value)
    assert call.partition("(")[0] in caught.value.message
    assert caught.value.file == str(tmp_path / "k.hip")


@pytest.mark.usefixtures("clang")
def test_a_workload_that_does_not_compile_leaves_the_others_to_be_checked(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No file that is named is gone: not the compiler's log, not the object."""
    monkeypatch.chdir(root)
    place = Path("configs/workloads")
    (place / "kernels/broken.hip").write_text("__global__ void k(int *a) { a[0] = missing_name; }\n")
    shipped = (place / "own_square.yaml").read_text()
    (place / "a_broken.yaml").write_text(shipped.replace("kernels/square.hip", "kernels/broken.hip"))
    names = ["a_broken", "no_such_workload", "own_square"]
    done = CliRunner().invoke(build_app(), ["check-kernels", *names])
    assert done.exit_code == 1
    assert "own_square on gfx801" in done.output and "2 problems" in done.output
    assert "use of undeclared identifier 'missing_name'" in done.output
    assert "no_such_workload" in done.output
    named = [Path(word) for word in re.findall(r"(/[\w./-]+)", done.output)]
    assert not [path for path in named if "apuflow-kernels-" in str(path) and not path.exists()]
