"""A workload to fill in from a file of Triton kernels."""

from __future__ import annotations

from pathlib import Path

import pytest

from apuflow.configure import load_workload
from apuflow.configure.kernel_workload import KernelsWorkload
from apuflow.core.errors import ConfigError
from apuflow.workloads.triton_kernels import import_kernels

KERNEL = """\
import triton
import triton.language as tl
import helper


@triton.jit
def twice(value):
    return 2 * value


@triton.jit
def unused(value):
    return value


@triton.jit
def norm(x_ptr, weight, result, count, n_columns, eps, BLOCK: tl.constexpr, FAST: tl.constexpr = True):
    row = tl.program_id(0)
    start = x_ptr + row * n_columns
    places = start + tl.arange(0, BLOCK)
    value = twice(tl.load(places)) * tl.load(weight + tl.arange(0, BLOCK))
    tl.store(result + row * n_columns + tl.arange(0, BLOCK), value / eps)
    tl.atomic_add(count, 1)
"""


def test_a_file_becomes_a_workload_that_loads(root: Path, tmp_path: Path) -> None:
    """Pointers are what addresses begin with; what is only stored to is touched; helpers are no launches."""
    place = tmp_path / "elsewhere"
    place.mkdir()
    (place / "kernel.py").write_text(KERNEL)
    (place / "helper.py").write_text("x = 1\n")
    files = import_kernels(place / "kernel.py", "mine", root)
    assert [str(file.relative_to(root / "configs/workloads")) for file in files] == [
        *("mine.yaml", "mine/kernel.py", "mine/helper.py", "mine/mine_reference.py"),
    ]
    workload = load_workload("mine", root)
    assert isinstance(workload, KernelsWorkload)
    errors: list[ConfigError] = []
    work = workload.work({}, errors.append)
    assert work is not None, errors
    (launch,) = work.program(4, "gfx90a").launches
    assert launch.kernel == "norm"
    assert [(given.kind, given.value) for given in launch.arguments] == [
        *(("buffer", "x_ptr"), ("buffer", "weight"), ("buffer", "result"), ("buffer", "count")),
        *(("integer", 64), ("real", 1.0)),
    ]
    assert {each.name: each.fill.kind for each in work.buffers()} == {
        **{"x_ptr": "uniform", "weight": "uniform", "result": "touch", "count": "touch"}
    }
    assert "# outputs: [result, count]" in files[0].read_text()


def test_a_file_without_kernels(root: Path, tmp_path: Path) -> None:
    (tmp_path / "plain.py").write_text("def f(x):\n    return x\n")
    with pytest.raises(ConfigError, match="no function with @triton"):
        import_kernels(tmp_path / "plain.py", "mine", root)
    (tmp_path / "broken.py").write_text("def f(x:\n")
    with pytest.raises(ConfigError, match="not a file of Python: line 1"):
        import_kernels(tmp_path / "broken.py", "mine", root)
