"""Plain YAML values that are read as something else than they look like.

PyYAML reads YAML 1.1: ``010`` is 8, ``1:30`` is 90 and ``1e3`` is text. YAML 1.2, and most people, read 10,
text and 1000. A number whose reading depends on the version is refused, and so are dates and endless numbers.
``yes``, ``no``, ``on`` and ``off`` are true and false.

Sources: the resolvers of PyYAML 6 (``yaml/resolver.py``); YAML 1.2.2, section 10.3.2 (core schema).
"""

from __future__ import annotations

import math
import re
from typing import NamedTuple

import yaml

_TAG = "tag:yaml.org,2002:"
_DECIMAL = re.compile(r"[-+]?(0|[1-9][0-9]*)")
_HEXADECIMAL = re.compile(r"0x[0-9a-fA-F]+")
_LATER = re.compile(r"0o[0-7]+|[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
"""Numbers of YAML 1.2."""
_FRACTION = re.compile(r"[-+]?([0-9]+\.[0-9]*|\.[0-9]+)([eE][-+][0-9]+)?")
"""Numbers with a point that both versions read alike."""
_GROUPED = re.compile(r"[-+]?[0-9][0-9_]*(\.[0-9_]*)?")
LONGEST = 40
"""Characters of a number that a remedy repeats."""


class Misread(NamedTuple):
    """Why a value is refused, and what to write."""

    message: str
    remedy: str


def misread(node: yaml.ScalarNode) -> Misread | None:
    """What is wrong with the spelling of a value; None: every reader of YAML reads it alike."""
    text, kind = node.value, node.tag.removeprefix(_TAG)
    if kind == "int":
        return None if _DECIMAL.fullmatch(text) or _HEXADECIMAL.fullmatch(text) else _number(text)
    if kind == "float":
        return _float(text)
    if node.style:
        return None
    if kind == "str":
        return _number(text) if _LATER.fullmatch(text) else None
    if kind == "timestamp":
        return Misread(
            "a single value is expected, and YAML 1.1 reads a date here", f"put it in quotes: '{text}'"
        )
    if kind in ("value", "merge"):
        return Misread("YAML 1.1 gives this sign a meaning of its own", f"put it in quotes: '{text}'")
    return None


def _float(text: str) -> Misread | None:
    if not _FRACTION.fullmatch(text):
        if text.lower().lstrip("+-") in (".inf", ".nan"):
            return Misread("a finite number is expected", "leave the key out, or write a number")
        return _number(text)
    if math.isfinite(float(text)):
        return None
    return Misread("the number is larger than any that a computer holds", "write a smaller number")


def _number(text: str) -> Misread:
    """A number that the versions of YAML read differently, or that has another base than 10."""
    if ":" in text:
        parts = ", ".join(part.lstrip("+-") for part in text.split(":"))
        return Misread(
            f"YAML 1.1 reads this as the number {_sixties(text)} (base 60), YAML 1.2 as text",
            f"write {_sixties(text)}; [{parts}] for a list; '{text}' for the text",
        )
    if _GROUPED.fullmatch(text) and "." not in text:
        sign, digits = "-" if text.startswith("-") else "", text.replace("_", "").lstrip("+-0")
        why = "a zero in front means base 8 in YAML 1.1 and nothing in YAML 1.2"
        if "_" in text:
            why = "YAML 1.1 reads this as a number, YAML 1.2 as text"
        return _refused(why, text, f"{sign}{digits}" if digits else "0")
    plain = text.replace("_", "")
    digits = plain.lstrip("+-")
    base = {"0b": 2, "0o": 8, "0x": 16}.get(digits[:2])
    if base is not None:
        whole = int(digits[2:] or "0", base)
        return _refused("a number is written in decimal", text, str(-whole if plain[0] == "-" else whole))
    value = float(plain)
    if not math.isfinite(value):
        return Misread("the number is larger than any that a computer holds", "write a smaller number")
    why = "YAML 1.1 reads this as text, YAML 1.2 as a number"
    if "_" in text:
        why = "YAML 1.1 reads this as a number, YAML 1.2 as text"
    return _refused(why, text, _decimal(value))


def _refused(why: str, text: str, meant: str) -> Misread:
    if len(meant) > LONGEST:
        return Misread(why, "write a decimal number, or put it in quotes for the text")
    return Misread(why, f"write {meant}, or '{text}' for the text")


def _decimal(value: float) -> str:
    """A number as both versions of YAML read it: with a point and a sign wherever it has an exponent."""
    if value.is_integer() and abs(value) < 1e16:
        return str(int(value))
    mantissa, mark, exponent = repr(value).partition("e")
    return f"{mantissa}{'' if '.' in mantissa else '.0'}e{exponent}" if mark else mantissa


def _sixties(text: str) -> str:
    """The value of digits with base 60 (YAML 1.1, types int and float)."""
    sign, digits = ("-", text[1:]) if text.startswith("-") else ("", text.lstrip("+"))
    total = 0.0
    for part in digits.replace("_", "").split(":"):
        total = total * 60 + float(part)
    return f"{sign}{_decimal(total)}"
