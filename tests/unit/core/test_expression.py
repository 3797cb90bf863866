"""Expressions of workload files."""

from __future__ import annotations

import pytest

from apuflow.core.errors import ConfigError
from apuflow.core.expression import evaluate, positive, text_with


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("n * 4", 4000),
        ("ceil(n, 256) * 256", 1024),
        ("min(n, 7) - max(2, 3)", 4),
        ("(n + 1) // 2 % 100", 0),
        ("-n", -1000),
        (12, 12),
    ],
)
def test_values(text: str | int, value: int) -> None:
    assert evaluate(text, {"n": 1000}, "key") == value


@pytest.mark.parametrize(
    "text",
    [
        "n.real",
        "__import__('os')",
        "n ** 9",
        "n / 2",
        "[n]",
        "min(n",
        "open(n)",
        "True",
        "1.5",
        "'a' * n",
        "n * 9223372036854775807",
        "(" * 5000,
        "",
    ],
)
def test_nothing_else_is_an_expression(text: str) -> None:
    with pytest.raises(ConfigError, match="not an expression"):
        evaluate(text, {"n": 1000}, "key")


def test_errors_name_the_key_and_what_is_known() -> None:
    with pytest.raises(ConfigError, match=r"unknown name m[\s\S]*names known here: n"):
        evaluate("m + 1", {"n": 1}, "buffers.a.elements")
    with pytest.raises(ConfigError, match="divides by 0"):
        evaluate("4 // n", {"n": 0}, "grid")
    with pytest.raises(ConfigError, match="0 is below 1"):
        positive("n - 1", {"n": 1}, "grid")


def test_names_in_braces() -> None:
    assert text_with("-DPAD={pad} -DX={{}}", {"pad": 1}, "compile") == "-DPAD=1 -DX={}"
    for wrong in ("{m}", "{pad.__class__}", "{", "{0}"):
        with pytest.raises(ConfigError, match="name in braces"):
            text_with(wrong, {"pad": 1}, "compile")
