"""The kernels that were measured on silicon compute what NumPy does."""

from __future__ import annotations

from contextlib import ExitStack

import pytest
from places import ROOT

from apuflow.configure import load_workload
from apuflow.configure.kernel_workload import KernelsWorkload
from apuflow.configure.loading import workload_names
from apuflow.core.errors import ConfigError
from apuflow.kernels.interpreted import interpret_program
from apuflow.kernels.metadata import read_kernels
from apuflow.kernels.sources import compiled_meanwhile
from apuflow.miopen.compiler import Compiler

LARGER = {
    "silicon_nw": {"n": 192},
    "silicon_matrixtranspose": {"n": 128},
    "silicon_matrixmultiplication": {"n": 64},
}
"""Sizes with more than one workgroup, where the smallest measured one has one."""
NAMES = [name for name in workload_names(ROOT) if name.startswith("silicon_")]


@pytest.mark.parametrize("name", NAMES)
def test_it_agrees_with_its_reference(name: str, clang: Compiler) -> None:
    workload = load_workload(name, ROOT)
    assert isinstance(workload, KernelsWorkload)
    errors: list[ConfigError] = []
    work = workload.work(LARGER.get(name, {}), errors.append)
    assert work is not None, errors
    program = work.program(4, "gfx902")
    with ExitStack() as stack:
        codes = {
            code: stack.enter_context(compiled_meanwhile(code.source, code.arguments, "gfx902", ROOT))
            for code in program.codes
        }
        kernels = {code: read_kernels(path) for code, path in codes.items()}
        _, differences = interpret_program(program, kernels, codes, "gfx902")
    assert set(differences) == set(program.outputs)
    assert max(differences.values()) <= 1e-6
