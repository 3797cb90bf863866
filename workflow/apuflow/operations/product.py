"""The matrix product as BLAS has it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from typing_extensions import override

from apuflow.miopen.launch import Arg, Gemm, Launch
from apuflow.miopen.rocm_4_0_1.gemm import product
from apuflow.operations.key import flag, real, whole
from apuflow.operations.operation import Operation, Pass


@dataclass(frozen=True, kw_only=True)
class Product(Operation):
    """``C = alpha op(A) op(B) + beta C``, column major, packed; a batch has its matrices one after the other.

    C is read where beta is not 0, which DeepBench's rule (alpha = beta = 1) asks for.
    """

    kind: ClassVar[str] = "gemm"
    title: ClassVar[str] = "matrix product, any transposes, alpha, beta, batch"
    source: ClassVar[str] = "rocBLAS' sgemm, or what the engine has in its place"
    directions: ClassVar[tuple[Pass, ...]] = ("fwd",)

    m: int = whole("rows of C")
    n: int = whole("columns of C")
    k: int = whole("columns of op(A), rows of op(B)")
    transpose_a: bool = flag("op(A) is the transpose of A", False)
    transpose_b: bool = flag("op(B) is the transpose of B", False)
    alpha: float = real("factor of the product", 1.0)
    beta: float = real("factor of what C held", 0.0)
    batch: int = whole("products, each with matrices of its own", 1)

    @override
    def problems(self) -> Iterator[tuple[str, str, str]]:
        largest = self.batch * max(self.m * self.k, self.k * self.n, self.m * self.n)
        if largest >= 2**31:
            yield "batch", f"a buffer of {largest} elements, 2147483647 at most", "make it smaller"

    @override
    def macs(self, direction: Pass) -> int:
        return self.batch * self.m * self.n * self.k

    @override
    def one_pass(self, direction: Pass, compute_units: int) -> tuple[Launch, ...]:
        m, n, k = self.m, self.n, self.k
        memory = (
            Arg("buffer", "gemm.a", self.batch * m * k, "in", "a"),
            Arg("buffer", "gemm.b", self.batch * k * n, "in", "b"),
            Arg("buffer", "gemm.c", self.batch * m * n, "inout" if self.beta else "out", "c"),
        )
        gemm = Gemm(
            m,
            n,
            k,
            self.transpose_a,
            self.transpose_b,
            self.batch,
            k if self.transpose_a else m,
            n if self.transpose_b else k,
            m,
            m * k,
            k * n,
            m * n,
            beta=self.beta,
            alpha=self.alpha,
        )
        return (product(self.name, self.kind, direction, memory, gemm),)
