"""The matrix product: BLAS' definition, element by element."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from operation_plays import play

from apuflow import operations


@pytest.mark.parametrize(("a", "b"), [*itertools.product((False, True), repeat=2)])
def test_transposes_alpha_beta_and_batch(a: bool, b: bool) -> None:
    m, n, k, batch, alpha, beta = 3, 4, 5, 2, 0.5, 2.0
    shape = {"m": m, "n": n, "k": k, "transpose_a": a, "transpose_b": b}
    done = play("gemm", {**shape, "alpha": alpha, "beta": beta, "batch": batch})
    left, right, before, after = (done[name] for name in ("a", "b", "c before", "c"))
    for one, i, j in itertools.product(range(batch), range(m), range(n)):
        wanted = beta * before[one * m * n + i + j * m]
        for step in range(k):
            x = left[one * m * k + (step + i * k if a else i + step * m)]
            y = right[one * k * n + (j + step * n if b else step + j * k)]
            wanted += alpha * x * y
        assert after[one * m * n + i + j * m] == pytest.approx(wanted, rel=1e-5)


def test_without_beta_c_is_not_read() -> None:
    [launch] = operations.make("gemm", {"m": 2, "n": 2, "k": 2}).launches("fwd", 4)
    assert [arg.role for arg in launch.args] == ["in", "in", "out"]
    done = play("gemm", {"m": 2, "n": 2, "k": 2}, given={"c": np.full(4, np.nan)})
    assert np.isfinite(done["c"]).all()
