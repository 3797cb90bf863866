"""What NumPy says of rocBLAS' kernels is what it says of the stand-in."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from apuflow.core.products import SCALE
from apuflow.launcher.reference_kernels import execute
from apuflow.miopen.launch import Arg, Gemm, Launch, expand
from apuflow.miopen.rocm_4_0_1.gemm import product
from apuflow.rocblas.call import library_launches


@pytest.mark.parametrize("form", ["NN", "NT", "TN"])
@pytest.mark.parametrize("beta", [0.0, 0.5])
def test_the_same_product_by_either_kernel(form: str, beta: float) -> None:
    """A batch of two with padded rows and offsets; rocBLAS splits the sum of NN and NT."""
    m, n, k, pad = 24, 20, 128, 3
    a, b = form[0] == "T", form[1] == "T"
    lda, ldb, ldc = (k if a else m) + pad, (n if b else k) + pad, m + pad
    sizes = lda * (m if a else k), ldb * (k if b else n), ldc * n
    gemm = Gemm(m, n, k, a, b, 2, lda, ldb, ldc, *sizes, beta=beta, offset_a=5, offset_c=7, alpha=1.5)
    args = (
        Arg("buffer", "a", 2 * sizes[0] + 7, "in", "a"),
        Arg("buffer", "b", 2 * sizes[1] + 7, "in", "b"),
        Arg("buffer", "c", 2 * sizes[2] + 7, "inout" if beta else "out", "c"),
    )
    stand_in = product("l", "FullyConnected", "fwd", args, gemm)
    found = tuple(expand(library_launches([stand_in], "gfx801")))
    assert [one.kernel == SCALE for one in found] == ([False] if form == "TN" else [True, False])

    def result(*launches: Launch) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
        random = np.random.default_rng(1)
        memory: dict[str, Any] = {arg.name: random.random(arg.elements, np.float32) for arg in args}
        for one in launches:
            execute(one, memory)
        return np.asarray(memory["c"])

    np.testing.assert_allclose(result(*found), result(stand_in), rtol=2e-6)
