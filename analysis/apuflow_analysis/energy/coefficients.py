"""Files of energy coefficients (``coefficients/*.yaml``): picojoules per thing that a counter counts.

A file holds what one publication or tool says, about the GPU that it was made for. None was made for a GPU of
AMD: energies are relative, and not validated there.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from apuflow.core.errors import AnalysisError

PARTS: Mapping[str, str] = {
    "issue": "fetching, decoding and choosing instructions",
    "vector": "vector ALU operations",
    "registers": "reads and writes of vector registers",
    "matrix": "matrix operations",
    "lds": "LDS accesses",
    "tcp": "TCP accesses",
    "tcc": "TCC accesses",
    "network": "links between TCPs, TCC banks and directories",
    "dram": "DRAM commands",
}
SRAMS: Mapping[str, str] = {"tcp": "tcp_bytes", "tcc": "tcc_bytes_used"}
"""Caches whose size a coefficient can be scaled to, and the quantity that holds the size."""

_KEYS = ("title", "source", "hardware", "coefficients")
_OF_ONE = ("part", "count", "pJ", "meaning")
_OPTIONAL = ("sram", "bytes", "without")
_EXPRESSION = re.compile(r"[\w\s.+*/()-]+")


@dataclass(frozen=True)
class Coefficient:
    """One coefficient.

    Attributes:
        part: one of ``PARTS``.
        count: expression over counters and quantities of metrics: how often it is spent.
        picojoules: each time.
        meaning: what the source says that it is, and what of it was assumed.
        sram, size: the cache that it belongs to (``SRAMS``), and the bytes that ``picojoules`` holds for.
        without: a quantity that must be 0: the file says nothing about it.
    """

    part: str
    count: str
    picojoules: float
    meaning: str
    sram: str | None = None
    size: float | None = None
    without: str | None = None

    @property
    def formula(self) -> str:
        """Picojoules as an expression of the metrics.

        The energy of an access to an SRAM grows with the root of its size: its word lines and bit lines do.
        """
        text = f"{self.picojoules:.12g} * ({self.count})"
        if self.sram is not None:
            text += f" * ({SRAMS[self.sram]} / {self.size:.12g}) ** 0.5"
        return text if self.without is None else f"where({self.without} > 0, nan, {text})"


@dataclass(frozen=True)
class Source:
    """A file of coefficients: its name, title, citation, and the GPU or process that it holds for."""

    name: str
    title: str
    source: str
    hardware: str
    coefficients: tuple[Coefficient, ...]

    def formula(self, part: str) -> str | None:
        """Picojoules of a part; None: the file does not cover it."""
        terms = [one.formula for one in self.coefficients if one.part == part]
        return " + ".join(terms) if terms else None


@cache
def shipped() -> tuple[Source, ...]:
    """The files that come with apuflow."""
    return tuple(load(file) for file in sorted((Path(__file__).parent / "coefficients").glob("*.yaml")))


def load(file: Path) -> Source:
    """Read and check a file of coefficients.

    Raises:
        AnalysisError: it cannot be read, or a key or value in it is wrong.
    """
    try:
        content = yaml.safe_load(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        reason = getattr(error, "strerror", None) or getattr(error, "problem", None) or str(error)
        message, remedy = (
            f"the coefficients cannot be read: {reason}",
            "give a YAML file (docs/howto/energy.md)",
        )
        raise AnalysisError(message, file=file, remedy=remedy) from None
    _check_keys(content, _KEYS, (), file, "")
    listed = content["coefficients"]
    if not isinstance(listed, list) or not listed:
        raise AnalysisError("no coefficients", file=file, key="coefficients", remedy="list at least one")
    texts = {key: _text(content, key, file, "") for key in _KEYS[:-1]}
    found = tuple(_coefficient(one, file, f"coefficients[{k}]") for k, one in enumerate(listed))
    return Source(file.stem, texts["title"], texts["source"], texts["hardware"], found)


def _coefficient(given: Any, file: Path, place: str) -> Coefficient:
    _check_keys(given, _OF_ONE, _OPTIONAL, file, place)
    part, count = _text(given, "part", file, place), _text(given, "count", file, place)
    _one_of(part, tuple(PARTS), file, f"{place}.part")
    for key in ("count", "without"):
        if key in given and not _EXPRESSION.fullmatch(_text(given, key, file, place)):
            remedy = "numbers, + - * / ( ) and counters or quantities of `apuflow list metrics`"
            raise AnalysisError(
                "not an expression", file=file, key=f"{place}.{key}", value=given[key], remedy=remedy
            )
    if ("sram" in given) != ("bytes" in given):
        remedy = "give both, or neither: `sram: tcp`, `bytes: 65536`"
        raise AnalysisError("a size goes with a cache", file=file, key=f"{place}.sram", remedy=remedy)
    if "sram" in given:
        _one_of(given["sram"], tuple(SRAMS), file, f"{place}.sram")
    size = _number(given, "bytes", file, place, least=1) if "bytes" in given else None
    picojoules = _number(given, "pJ", file, place, least=0)
    meaning = _text(given, "meaning", file, place)
    return Coefficient(part, count, picojoules, meaning, given.get("sram"), size, given.get("without"))


def _check_keys(
    given: Any, needed: tuple[str, ...], optional: tuple[str, ...], file: Path, place: str
) -> None:
    if not isinstance(given, dict):
        raise AnalysisError("not a mapping", file=file, key=place or None, value=given, remedy="key: value")
    dot = f"{place}." if place else ""
    for key in needed:
        if key not in given:
            raise AnalysisError("a key is missing", file=file, key=f"{dot}{key}", remedy=f"add `{key}:`")
    for key in given:
        if key not in (*needed, *optional):
            _one_of(key, (*needed, *optional), file, f"{dot}{key}")


def _one_of(value: Any, known: tuple[str, ...], file: Path, key: str) -> None:
    if value not in known:
        raise AnalysisError("unknown", file=file, key=key, value=value, remedy=f"one of {', '.join(known)}")


def _text(given: Mapping[str, Any], key: str, file: Path, place: str) -> str:
    value = given[key]
    if not isinstance(value, str) or not value.strip():
        name = f"{place}.{key}" if place else key
        raise AnalysisError("not a text", file=file, key=name, value=value, remedy="write it in quotes")
    return " ".join(value.split())


def _number(given: Mapping[str, Any], key: str, file: Path, place: str, *, least: float) -> float:
    value = given[key]
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value < float("inf"):
        remedy = f"a number of at least {least:g}"
        raise AnalysisError("not such a number", file=file, key=f"{place}.{key}", value=value, remedy=remedy)
    return float(value)
