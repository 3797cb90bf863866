"""Criteria of statements over intervals: ``backward < 0.9 * forward and forward > 0``."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Collection, Mapping
from typing import Final, NamedTuple, TypeAlias

from apuflow.core.errors import ConfigError

REMEDY: Final = (
    "comparisons (< <= > >=) of numbers and names of values, with + - * /, min(a, b), max(a, b), and, or, not"
)


class Interval(NamedTuple):
    """A number and the ends between which it is."""

    low: float
    value: float
    high: float


Truth: TypeAlias = bool | None
"""None: some of the numbers in the intervals say yes, others no."""
_Result: TypeAlias = Interval | Truth


def exactly(value: float) -> Interval:
    """A number without an interval."""
    return Interval(value, value, value)


def _ends(combine: Callable[[float, float], float]) -> Callable[[Interval, Interval], Interval]:
    """An operation that grows or falls in each operand: the ends of the operands give those of the result."""

    def combined(left: Interval, right: Interval) -> Interval:
        corners = [combine(a, b) for a in (left.low, left.high) for b in (right.low, right.high)]
        return Interval(min(corners), combine(left.value, right.value), max(corners))

    return combined


def divided(left: Interval, right: Interval) -> Interval:
    """A quotient; ZeroDivisionError where the divisor's interval has 0 in it."""
    if right.low <= 0 <= right.high:
        raise ZeroDivisionError
    return _ends(operator.truediv)(left, right)


_OPERATORS: Final[Mapping[type[ast.operator], Callable[[Interval, Interval], Interval]]] = {
    ast.Add: _ends(operator.add),
    ast.Sub: _ends(operator.sub),
    ast.Mult: _ends(operator.mul),
    ast.Div: divided,
}
_FUNCTIONS: Final = {"min": _ends(min), "max": _ends(max)}
_ORDERS: Final[tuple[type[ast.cmpop], ...]] = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)


def _less(left: Interval, right: Interval, *, equal: bool) -> Truth:
    sure = left.high <= right.low if equal else left.high < right.low
    never = left.low > right.high if equal else left.low >= right.high
    return True if sure else False if never else None


def _compared(left: Interval, order: ast.cmpop, right: Interval) -> Truth:
    if isinstance(order, ast.Gt | ast.GtE):
        left, right = right, left
    return _less(left, right, equal=isinstance(order, ast.LtE | ast.GtE))


def _all(parts: Collection[Truth]) -> Truth:
    return False if False in parts else None if None in parts else True


def _not(part: Truth) -> Truth:
    return None if part is None else not part


def check(criterion: str, names: Collection[str], key: str) -> None:
    """Refuse a criterion that cannot be judged, or that leaves one of ``names`` out.

    Raises:
        ConfigError: it is no such expression, or names something unknown.
    """
    judge(criterion, dict.fromkeys(names, exactly(1.0)), key, dividing=False)
    used = {
        node.id for node in ast.walk(ast.parse(criterion.strip(), mode="eval")) if isinstance(node, ast.Name)
    }
    for name in names:
        if name not in used:
            remedy = "use it in holds, or remove it"
            raise ConfigError("a value that the criterion does not use", key=key, value=name, remedy=remedy)


def judge(criterion: str, values: Mapping[str, Interval], key: str, *, dividing: bool = True) -> Truth:
    """Whether a criterion holds for all numbers in the intervals (True), for none (False) or for some (None).

    Args:
        key: where it stands in its file, for errors.
        dividing: a division by 0 is an error.

    Raises:
        ConfigError: it is no such expression, names something unknown, or divides by what may be 0.
    """
    try:
        found = _value(ast.parse(criterion.strip(), mode="eval").body, values)
    except KeyError as error:
        known = ", ".join(values) or "none"
        message = f"the criterion names a value that is not there: {error.args[0]}"
        raise ConfigError(message, key=key, value=criterion, remedy=f"values: {known}") from None
    except ZeroDivisionError:
        if not dividing:
            return None
        remedy = "compare with a product instead: a > 2 * b"
        raise ConfigError("it divides by what may be 0", key=key, value=criterion, remedy=remedy) from None
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        raise ConfigError("not a criterion", key=key, value=criterion, remedy=REMEDY) from None
    if isinstance(found, Interval):
        raise ConfigError("a number, not a criterion", key=key, value=criterion, remedy=REMEDY)
    return found


def _number(node: ast.AST, values: Mapping[str, Interval]) -> Interval:
    found = _value(node, values)
    if not isinstance(found, Interval):
        raise ValueError("a comparison where a number is needed")
    return found


def _truth(node: ast.AST, values: Mapping[str, Interval]) -> Truth:
    found = _value(node, values)
    if isinstance(found, Interval):
        raise ValueError("a number where a comparison is needed")
    return found


def _value(node: ast.AST, values: Mapping[str, Interval]) -> _Result:
    match node:
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            return exactly(float(value))
        case ast.Name(id=name):
            return values[name]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return _ends(operator.sub)(exactly(0.0), _number(operand, values))
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return _not(_truth(operand, values))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            return _OPERATORS[type(op)](_number(left, values), _number(right, values))
        case ast.Call(func=ast.Name(id=name), args=[left, right], keywords=[]) if name in _FUNCTIONS:
            return _FUNCTIONS[name](_number(left, values), _number(right, values))
        case ast.BoolOp(op=op, values=parts):
            found = [_truth(part, values) for part in parts]
            return _all(found) if isinstance(op, ast.And) else _not(_all([_not(part) for part in found]))
        case ast.Compare(left=left, ops=orders, comparators=others):
            if not all(isinstance(order, _ORDERS) for order in orders):
                raise ValueError("intervals are not compared for equality")
            terms = [_number(part, values) for part in (left, *others)]
            return _all([_compared(*each) for each in zip(terms, orders, terms[1:], strict=False)])
    raise ValueError("not a part of a criterion")
