"""Whole-number expressions of a workload's file, as ``ceil(n, 256) * 256``: evaluated, never executed."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from apuflow.core.errors import ConfigError

_BRACES: Final = re.compile(r"\{\{|\}\}|\{(\w*)\}|[{}]")
LARGEST: Final = 1 << 63
"""No size, count or kernel argument is larger."""


def _ceil(number: int, divisor: int) -> int:
    return -(-number // divisor)


def _log2(number: int) -> int:
    if number < 1:
        raise ValueError("no logarithm")
    return number.bit_length() - 1


_OPERATORS: Final[Mapping[type[ast.operator], Callable[[int, int], int]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_FUNCTIONS: Final[Mapping[str, Callable[..., int]]] = {
    **{"min": min, "max": max, "ceil": _ceil, "log2": _log2},
}
REMEDY: Final = (
    "whole numbers, names of parameters, + - * // % and parentheses, min(a, b), max(a, b), "
    "ceil(a, b), which is a / b rounded up, log2(a), rounded down"
)


def evaluate(expression: int | str, names: Mapping[str, int], key: str) -> int:
    """The value of an expression.

    Args:
        names: what each name in it stands for.
        key: where it stands in its file, for errors.

    Raises:
        ConfigError: it is no such expression, names something unknown, divides by 0, or is out of range.
    """
    if isinstance(expression, int):
        return expression
    try:
        value = _value(ast.parse(expression.strip(), mode="eval").body, names)
    except KeyError as error:
        known = ", ".join(sorted(names)) or "none"
        raise ConfigError(
            f"unknown name {error.args[0]}", key=key, value=expression, remedy=f"names known here: {known}"
        ) from None
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError) as error:
        raise ConfigError("not an expression", key=key, value=expression, remedy=REMEDY) from error
    except ZeroDivisionError:
        raise ConfigError(
            "it divides by 0", key=key, value=expression, remedy="change the parameters"
        ) from None
    if abs(value) >= LARGEST:
        raise ConfigError("out of range", key=key, value=expression, remedy="at most 63 bits")
    return value


def _value(node: ast.AST, names: Mapping[str, int]) -> int:
    match node:
        case ast.Constant(value=int() as value) if not isinstance(value, bool):
            return value
        case ast.Name(id=name):
            return names[name]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand, names)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            result = _OPERATORS[type(op)](_value(left, names), _value(right, names))
            if abs(result) >= LARGEST:
                raise ValueError("too large")
            return result
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in _FUNCTIONS:
            return int(_FUNCTIONS[name](*(_value(argument, names) for argument in args)))
    raise ValueError("not a part of such an expression")


def positive(expression: int | str, names: Mapping[str, int], key: str) -> int:
    """As :func:`evaluate`; a value below 1 is an error."""
    value = evaluate(expression, names, key)
    if value < 1:
        raise ConfigError(f"{value} is below 1", key=key, value=expression, remedy="give a size of 1 or more")
    return value


def text_with(template: str, names: Mapping[str, Any], key: str) -> str:
    """``-DPAD={pad}`` with its names in braces replaced by their values.

    Raises:
        ConfigError: a brace without a name that is known.
    """

    def plain(found: re.Match[str]) -> str:
        if found[0] in ("{{", "}}"):
            return found[0][0]
        if found[1] not in names:
            raise ConfigError(
                "a name in braces is not known",
                key=key,
                value=template,
                remedy=f"one of {', '.join(sorted(names)) or 'none'}; write {{{{ for a brace itself",
            )
        return str(names[found[1]])

    return _BRACES.sub(plain, template)
