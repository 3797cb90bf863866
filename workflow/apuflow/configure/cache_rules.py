"""Caches and TLBs that gem5 can index: a power of two of sets, and of ways where a tree chooses the victim.

Source: gem5 v23.0.1.0 ``CacheMemory::init`` (src/mem/ruby/structures/CacheMemory.cc), ``TreePLRU``
(src/mem/cache/replacement_policies/tree_plru_rp.cc), ``GpuTLB`` (src/arch/amdgpu/common/tlb.cc), and the
sizes that ``configs/ruby/GPU_VIPER.py`` and ``configs/common/GPUTLBConfig.py`` make of the options.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from apuflow.core.scalar import Scalar
from apuflow.core.units import format_size, size_bytes

TREE = "TreePLRURP"
LINE = 64

Problem = tuple[tuple[str, ...], str, str]
"""The options that it is about, what is wrong, how to mend it."""


@dataclass(frozen=True)
class _Cache:
    """Options that describe a cache; ``shared`` divides its size over so many banks."""

    size: str
    ways: str
    shared: str | None = None
    policy: str | None = None


_CACHES = (
    _Cache("tcp-size", "tcp-assoc", policy="tcp-rp"),
    _Cache("tcc-size", "tcc-assoc", "num-tccs", "tcc-rp"),
    _Cache("sqc-size", "sqc-assoc", policy="sqc-rp"),
    _Cache("l3_size", "l3_assoc", "num-dirs"),
    _Cache("l1d_size", "l1d_assoc"),
    _Cache("l1i_size", "l1i_assoc"),
    _Cache("l2_size", "l2_assoc"),
)


_READ = (
    *(name for cache in _CACHES for name in (cache.size, cache.ways, cache.shared, cache.policy) if name),
    *(f"L{level}TLB{what}" for level in (1, 2, 3) for what in ("entries", "assoc")),
    "tot-L1TLB-size",
    "bw-scalor",
)
"""Options that decide."""


def cache_problems(options: Mapping[str, Scalar]) -> tuple[Problem, ...]:
    """What gem5 cannot index, or would index as another size than the one that is asked for.

    Args:
        options: all options, each acceptable by itself.
    """
    return _problems(tuple(map(options.get, _READ)))


@lru_cache(maxsize=4096)
def _problems(values: tuple[Any, ...]) -> tuple[Problem, ...]:
    options = dict(zip(_READ, values, strict=True))
    found: list[Problem] = []
    for cache in _CACHES:
        if cache.size != "tcc-size" or int(options["bw-scalor"]) <= 0:
            found += _cache(cache, options)
    for level in (1, 2, 3):
        if level > 1 or not int(options["tot-L1TLB-size"]):
            found += _tlb(f"L{level}TLBentries", f"L{level}TLBassoc", options)
    return tuple(found)


def _cache(cache: _Cache, options: Mapping[str, Scalar]) -> Iterator[Problem]:
    ways = int(options[cache.ways])
    if not _power(ways) and options.get(cache.policy or "", TREE) == TREE:
        below = 1 << (ways.bit_length() - 1)
        message = "must be a power of two: gem5's replacement tree has no other"
        yield (cache.ways,), message, f"{below} or {below * 2}"
        return
    given = options[cache.size]
    size = (given if isinstance(given, int) else size_bytes(str(given))) or 0
    parts = int(options[cache.shared]) if cache.shared else 1
    set_bytes = ways * LINE * parts
    sets, rest = divmod(size, set_bytes)
    if sets >= 2 and not rest and _power(sets):
        return
    names = tuple(name for name in (cache.size, cache.ways, cache.shared) if name)
    below = set_bytes << max(1, max(sets, 1).bit_length() - 1)
    if sets < 2:
        effect = "gem5 makes it larger" if cache.size == "tcc-size" else "gem5 stops at an assertion"
        message = f"{cache.size} has fewer than two sets of {ways} ways of {LINE} B"
        remedy = f"{cache.size} of at least {format_size(set_bytes * 2)}"
    else:
        effect = "gem5 would reach only a part of them"
        message = f"{cache.size} makes {size / set_bytes:g} sets of {ways} ways, no power of two"
        remedy = f"{cache.size} of {format_size(below)} or {format_size(below * 2)}"
    if parts > 1:
        message += f" in each of {parts} ({cache.shared})"
    yield names, f"{message}: {effect}", remedy


def _tlb(entries: str, ways: str, options: Mapping[str, Scalar]) -> Iterator[Problem]:
    size, assoc = int(options[entries]), int(options[ways])
    if size < assoc:
        message = f"has fewer entries than {ways} ({assoc}) ways: gem5 stops at an assertion"
        yield (entries, ways), message, f"at least {assoc}, or {ways}: {size}"
    elif size % assoc or not _power(size // assoc):
        below = assoc << ((size // assoc).bit_length() - 1)
        message = (
            f"{size / assoc:g} sets of {assoc} ways, no power of two: gem5 would reach only a part of them"
        )
        yield (entries, ways), message, f"{below} or {below * 2}, or {ways}: {size}"


def _power(value: int) -> bool:
    return value > 0 and not value & (value - 1)
