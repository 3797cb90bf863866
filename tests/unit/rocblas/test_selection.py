"""Which kernel a product runs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apuflow.miopen.launch import Gemm
from apuflow.rocblas.tables import LOGIC, measured, select, solution_of, solutions, transposes


def product(m: int, n: int, k: int, form: str = "NN") -> Gemm:
    a, b = form[0] == "T", form[1] == "T"
    return Gemm(m, n, k, a, b, 1, k if a else m, n if b else k, m)


def test_the_tables_are_whole() -> None:
    """As the reference counts them: 73 NN, 40 NT, 60 TN, 38 TT kernels; 160, 10 and 73 measured sizes."""
    assert {form: sum(key[0] == form for key in solutions()) for form in LOGIC} == {
        "NN": 73, "NT": 40, "TN": 60, "TT": 38,
    }  # fmt: skip
    assert {form: len(measured(form)) for form in LOGIC} == {"NN": 160, "NT": 10, "TN": 73, "TT": 0}
    assert len({one.kernel for one in solutions().values()}) == 211
    for (form, _), one in solutions().items():
        assert one.kernel.startswith(LOGIC[form])
        assert f"_MT{one.macro_tile_m}x{one.macro_tile_n}x{one.depth_u}_" in one.kernel
        assert f"_GSU{one.global_split_u}_" in one.kernel
        assert solution_of(one.kernel) is one


@pytest.mark.parametrize("form", ["NN", "NT", "TN"])
def test_a_measured_size_runs_the_kernel_that_was_fastest_there(form: str) -> None:
    for row in measured(form):
        solution = select(product(row.m, row.n, row.k, form), "gfx803").solution
        assert solution is not None
        assert solution.number == row.solution


@given(
    st.integers(1, 20000), st.integers(1, 20000), st.integers(1, 20000), st.sampled_from(["NN", "NT", "TN"])
)
def test_no_measured_size_that_the_product_may_take_is_nearer(m: int, n: int, k: int, form: str) -> None:
    def distance(row: tuple[int, int, int]) -> int:
        return sum((a - b) ** 2 for a, b in zip((m, n, k), row, strict=True))

    solution = select(product(m, n, k, form), "gfx803").solution
    taken = [row for row in measured(form) if solution is not None and row.solution == solution.number]
    wide = max(4 if form[0] == "N" else 1, 4 if form[1] == "T" else 1)
    if min(m, n) >= wide:  # then every kernel takes it
        assert min(distance(row.key) for row in taken) == min(distance(row.key) for row in measured(form))


def test_a_product_narrower_than_a_load_is_left_to_a_kernel_that_takes_it() -> None:
    narrow = select(product(1, 512, 512), "gfx803").solution
    assert narrow is not None
    assert narrow.load_width_a == 1
    wide = select(product(4, 512, 512), "gfx803").solution
    assert wide is not None


@pytest.mark.parametrize(
    ("gemm", "gfx", "says"),
    [
        (product(64, 64, 64, "TT"), "gfx803", "generic HIP kernel"),
        (product(64, 64, 64), "gfx902", "do not run on gfx902"),
        (product(1 << 29, 64, 64), "gfx803", "reaches across"),
    ],
)
def test_where_no_kernel_is_taken_the_reason_is_told(gemm: Gemm, gfx: str, says: str) -> None:
    choice = select(gemm, gfx)
    assert choice.solution is None
    assert says in choice.reason


def test_batch_alpha_and_beta_do_not_matter() -> None:
    one = product(100, 70, 132)
    other = one._replace(batch=9, stride_a=13200, stride_b=9240, stride_c=7000, alpha=2.0, beta=1.0)
    assert select(one, "gfx801") == select(other, "gfx801")
    assert transposes(one) == "NN"
