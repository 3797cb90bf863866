"""Operations from kinds and shapes: keys, canonical texts, what they have to do."""

from __future__ import annotations

import pytest

from apuflow import operations
from apuflow.core.errors import ConfigError
from apuflow.operations.operation import Cost

SHAPE = {"m": 1760, "n": 16, "k": 1760}


def test_a_shape_makes_an_operation_with_defaults() -> None:
    made = operations.make("gemm", {**SHAPE, "beta": 1})
    assert made.text == "[gemm]\nm=1760\nn=16\nk=1760\nbeta=1.0\n"
    assert operations.parse(made.text) == made
    assert operations.make("gemm", {**SHAPE, "beta": 1.0, "batch": 1, "transpose_a": False}) == made


def test_a_flag_is_read_from_text() -> None:
    made = operations.make("gemm", {**SHAPE, "transpose_a": True})
    assert "transpose_a=true" in made.text
    assert operations.parse(made.text) == made


def test_cost_of_deepbenchs_first_product() -> None:
    """2 m n k = 99,123,200 operations; A, B and with beta also C are read once, C is written."""
    made = operations.make("gemm", {**SHAPE, "beta": 1})
    a, b, c = 4 * 1760 * 1760, 4 * 1760 * 16, 4 * 1760 * 16
    assert made.cost("fwd") == Cost(1760 * 16 * 1760, a + b + c, c)
    assert 2 * made.cost("fwd").macs == 99_123_200
    assert operations.make("gemm", SHAPE).cost("fwd") == Cost(1760 * 16 * 1760, a + b, c)
    assert sum(made.buffer_bytes("fwd").values()) == a + b + c


@pytest.mark.parametrize(
    ("kind", "shape", "key", "says"),
    [
        ("gem", SHAPE, "operation", "did you mean gemm?"),
        ("spmv", SHAPE, "operation", "one of gemm"),
        ("gemm", {"m": 3, "n": 4}, "k", "give k: columns of op"),
        ("gemm", {**SHAPE, "transposea": True}, "transposea", "did you mean transpose_a?"),
        ("gemm", {**SHAPE, "m": 0}, "m", "at least 1"),
        ("gemm", {**SHAPE, "m": 1.5}, "m", "a whole number"),
        ("gemm", {**SHAPE, "m": "many"}, "m", "a whole number"),
        ("gemm", {**SHAPE, "m": True}, "m", "a whole number"),
        ("gemm", {**SHAPE, "m": 2**31}, "m", "at most 2147483647"),
        ("gemm", {**SHAPE, "beta": float("inf")}, "beta", "a number"),
        ("gemm", {**SHAPE, "transpose_b": 1}, "transpose_b", "true or false"),
        ("gemm", {**SHAPE, "batch": 100_000}, "batch", "make it smaller"),
    ],
)
def test_a_wrong_shape_is_refused_with_its_fix(
    kind: str, shape: dict[str, float], key: str, says: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        operations.make(kind, shape)
    assert caught.value.key == key
    assert says in str(caught.value)


def test_a_direction_that_it_lacks_is_refused() -> None:
    with pytest.raises(ConfigError, match="no direction bwd"):
        operations.make("gemm", SHAPE).launches("both", 4)


@pytest.mark.parametrize("kind", operations.KINDS)
def test_every_kind_says_what_it_is(kind: str) -> None:
    cls = operations.KINDS[kind]
    assert cls.kind == kind
    assert cls.title and cls.source and cls.directions
