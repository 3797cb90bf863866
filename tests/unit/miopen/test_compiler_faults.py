"""Kernels that clang compiles wrongly are refused before they are compiled."""

from __future__ import annotations

import pytest

from apuflow.miopen.compiler_faults import spoilt
from apuflow.miopen.launch import Row

CLANG_15, CLANG_19 = "Debian clang version 15.0.6\n-O3", "Debian clang version 19.1.7 (3~deb12u1)\n-O3"


def batch_norm(samples: int) -> Row:
    return Row("MIOpenBatchNormFwdTrainPerAct.cl", f" -DMIO_BN_N={samples} -DMIO_BN_C=64", "norm1")


@pytest.mark.parametrize(
    ("samples", "gfx", "compiler"),
    [(240, "gfx902", CLANG_15), (252, "gfx801", CLANG_15), (252, "gfx902", CLANG_19)],
)
def test_what_ran_right_on_gem5_is_compiled(samples: int, gfx: str, compiler: str) -> None:
    assert spoilt(batch_norm(samples), gfx, compiler) is None


@pytest.mark.parametrize("gfx", ["gfx902", "gfx900"])
def test_what_stores_to_no_page_is_refused_with_its_layer(gfx: str) -> None:
    """gem5 v24.1 ended in tlb.cc:825 at 248 and 250 to 256 samples."""
    problem = spoilt(batch_norm(248), gfx, CLANG_15)
    assert problem is not None and problem.key == "norm1"
    assert "APUFLOW_CLANG=clang-19" in str(problem.remedy)
