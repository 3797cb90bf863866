"""Command lines of hipcc, as makefiles of HIP programs have them."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

import pytest
from needs import C_COMPILER, CLANG, HIP

from apuflow.capture.build import Build
from apuflow.capture.bundle import targets
from apuflow.capture.options import read_line
from apuflow.capture.toolchain import write_toolchain
from apuflow.core.errors import ConfigError

MAKEFILE = """\
HIPCC = $(HIP_PATH)/bin/hipcc
FLAGS = -I. -O2 $(shell $(HIP_PATH)/bin/hipconfig --cpp_config)

program: main.o twice.o plain.o
\t$(HIPCC) $^ -lm -o $@
main.o: main.cpp
\t$(HIPCC) $(FLAGS) --amdgpu-target=gfx803,gfx90a -c $<
twice.o: twice.cu
\t$(HIPCC) $(FLAGS) --offload-arch=gfx90a -march=native -MD -c $< -o $@
plain.o: plain.c
\t$(HIPCC) -std=c99 -c $<
"""
MAIN = """\
#include <hip/hip_runtime.h>
void twice(int *x, int n);
extern "C" int plain(int x);
__global__ void add(int *x, int n) { x[threadIdx.x] += n; }
int main()
{
    int *x;
    if (hipHostMalloc(&x, 256))
        return 2;
    for (int i = 0; i < 64; i++)
        x[i] = i;
    add<<<1, 64>>>(x, plain(3));
    twice(x, 64);
    return x[5] != 2 * (5 + 9);
}
"""
TWICE = """\
#include <hip/hip_runtime.h>
static __global__ void times(int *x) { x[threadIdx.x] *= 2; }
void twice(int *x, int n) { hipLaunchKernelGGL(times, dim3(1), dim3(n), 0, 0, x); }
"""


def test_options_go_where_they_belong() -> None:
    words = (
        "-x c++ -O2 -DN=3 -I inc -Xclang -foo -march=native -MF a.d a.txt -x none b.cu -L/lib -lm -Wl,-z,now "
        "--offload-arch=gfx90a:xnack-,gfx906 -o out"
    )
    line = read_line(shlex.split(words))
    assert [(each.path.name, each.language) for each in line.sources] == [("a.txt", "c++"), ("b.cu", "hip")]
    assert line.for_gpu == ("-O2", "-DN=3", "-I", "inc", "-Xclang", "-foo")
    assert line.for_host == (*line.for_gpu, "-march=native", "-MF", "a.d")
    linked = line.for_linker([Path("1.o"), Path("2.o")])
    assert linked[-5:] == ("1.o", "2.o", "-L/lib", "-lm", "-Wl,-z,now")
    assert (line.gpus, line.out, line.form) == (("gfx90a", "gfx906"), Path("out"), "program")


@pytest.mark.parametrize(
    ("words", "form"), [("-c a.hip", "objects"), ("--genco a.hip", "code"), ("-E a.c", "other")]
)
def test_what_a_line_makes(words: str, form: str) -> None:
    assert read_line(words.split()).form == form


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("a.hip -o", "an option without its value"),
        ("-fgpu-rdc a.hip", "GPU code of several files"),
        ("--offload-arch=gfx1030 {}", "no GPU that gem5 models"),
        ("none.hip", "no such file"),
        ("-c {} {} -o x.o", "one output for several sources"),
    ],
)
def test_lines_that_cannot_be(words: str, said: str, tmp_path: Path) -> None:
    source = tmp_path / "a.hip"
    source.touch()
    with pytest.raises(ConfigError, match=said):
        Build(root=tmp_path).run(read_line(words.replace("{}", str(source)).split()))


def test_a_makefile_for_hipcc_builds_a_program(tmp_path: Path) -> None:
    """Objects of HIP and of C; GPUs of the makefile, of which clang here compiles one."""
    for need in (C_COMPILER, CLANG, HIP):
        need.required_program()
    write_toolchain(tmp_path / "rocm", ["gfx90a"], None, tmp_path)
    plain = "int plain(int x) { return x * x; }"
    texts = {"Makefile": MAKEFILE, "main.cpp": MAIN, "twice.cu": TWICE, "plain.c": plain}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    done = subprocess.run(
        ["make", f"HIP_PATH={tmp_path}/rocm"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert targets((tmp_path / "program").read_bytes()) == ("gfx90a",)
    assert "twice.cu" in (tmp_path / "twice.d").read_text()
