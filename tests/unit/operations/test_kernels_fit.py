"""The plans against the kernels: arguments as their sources have them, and the compiled objects."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import needs
import pytest
from launcher_tools import built, run, source_rows
from operation_shapes import CASES

from apuflow import operations
from apuflow.launcher.plan import guest_run, source_directory
from apuflow.miopen import Launch
from apuflow.miopen.compiler import Compiler
from apuflow.miopen.objects import compile_object
from apuflow.operations import own

SIGNATURES = {
    "Op4dTensorLite": "b3 f3 l4 i1",
    "OpTensorFwdBias": "b2 i1 b1 i4 f3 l3 i2",
    "MIOpenConvBwdB": "b2",
    "SubTensorOpWithSubTensor1d": "b1 i3 b1 i2",
    "SubTensorOpWithSubTensor2d": "b1 i5 b1 i3",
    "MIOpenBatchNormFwdInferSpatialEst": "b6 d1 u3",
    "SubTensorOpWithScalar1d": "b1 f1 i3",
    "transpose_NCHW2CNHW_opt": "b2",
    "MIOpenConvUni": "b3 f1",
    "MIOpenConv1x1": "b3 f1",
    "MIOpenConv1x1pquv": "b3 f1",
    "MIOpenCvBwdWrW": "b3 f1",
    "MIOpenCvBwdWrW_rdc": "b2",
    "MIOpenCvBwdWrW_8x8map": "b3 f1",
    "MIOpenCvBwdWrW_16x16map": "b3 f1",
    "SubSample": "b2",
    "Im2d2Col": "i1 b1 i13 b1",
    "Col2Im2d": "b1 i12 b1 i1",
    "Op2dTensorLite": "b1 i1 b1 i1 b1 i1 f3 l5 i2",
    "MIOpenActiveFwdLite": "b2 f3 l2",
    "MIOpenActiveBwdLite": "b4 f4 l4",
    "MIOpenActiveFwd2DLite": "b2 f3 l2 u2",
    "MIOpenActiveBwd2DLite": "b4 f4 l4 u4",
    "LSTMFwdHidUpdate": "b2 i2 l9 c2 i3",
    "LSTMBwdHidUpdate": "b4 i2 l16 c4 i4",
    "gelu_forward": "b2",
    "gelu_backward": "b3",
    "sgd_momentum": "b3 f3",
    "layernorm_forward": "b6 i1 f1",
    "layernorm_backward": "b6 i1",
    "layernorm_weights": "b6 i2",
    "embedding_forward": "b3 i2",
    "embedding_backward": "b3 i3",
    "upsample_forward": "b2 i1",
    "upsample_backward": "b2 i1",
}
"""Arguments in the kernels' sources (rocm-4.0.1): buffers, floats, longs, doubles, ints, uints, in runs."""

_LETTERS = {"buffer": "b", "char": "c", "uint": "u"}


def every_launch(name: str) -> tuple[Launch, ...]:
    operation = operations.make(name.partition(" ")[0], CASES[name])
    return tuple(launch for one in operation.directions for launch in operation.launches(one, 4))


def signature(launch: Launch) -> str:
    runs: list[list[Any]] = []
    for arg in launch.args:
        letter = _LETTERS.get(arg.kind, arg.kind[0])
        if runs and runs[-1][0] == letter:
            runs[-1][1] += 1
        else:
            runs.append([letter, 1])
    return " ".join(f"{letter}{count}" for letter, count in runs)


def test_every_kind_has_a_case() -> None:
    assert {name.partition(" ")[0] for name in CASES} == set(operations.KINDS)


@pytest.mark.parametrize("name", CASES)
def test_arguments_are_those_of_the_kernels_sources(name: str) -> None:
    for launch in every_launch(name):
        if launch.gemm is None:
            assert signature(launch) == SIGNATURES[launch.kernel], launch.kernel


def only_ours(name: str) -> bool:
    return all(launch.gemm is not None or launch.program in own.PROGRAMS for launch in every_launch(name))


COMPILED = [
    pytest.param(name, id=name, marks=[] if only_ours(name) else [pytest.mark.gem5]) for name in CASES
]
"""MIOpen's sources are where gem5 is: the gate requires our own kernels alone."""


@pytest.mark.parametrize("name", COMPILED)
def test_the_compiled_kernels_take_the_planned_arguments(name: str, clang: Compiler, tmp_path: Path) -> None:
    """The program that starts them compares sizes and names with the object's own descriptors."""
    found = every_launch(name)
    kernels = Path(os.environ.get("APUFLOW_TEST_MIOPEN", "/nonexistent"))
    objects = {}
    for number, row in enumerate(source_rows(found)):
        directory = source_directory(row.program, kernels)
        if not directory.is_dir():
            needs.MIOPEN.skip()
        objects[row] = tmp_path / f"{number}.o"
        compile_object(row, "gfx801", clang, directory, objects[row])
    listed = tmp_path / "dispatch.list"
    listed.write_text(guest_run(found, device="gfx801", objects=objects).contents.text())
    done = run(built(), "--check", listed)
    assert done.returncode == 0, done.stderr
