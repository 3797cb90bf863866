"""Caches, TLBs and numbers of controllers that gem5 can build.

Sources: gem5 v23.0 ``CacheMemory::init``, ``TreePLRU``, ``GpuTLB`` (src/arch/amdgpu/common/tlb.cc),
``configs/ruby/GPU_VIPER.py``, ``configs/common/GPUTLBConfig.py``. Ruby keeps the controllers of a machine
type as bits of a set: more than ``NUMBER_BITS_PER_SET`` end gem5 at its start (``Set.hh``, ``NetDest.cc``,
the same from v21.1 to develop c91af552). It is 64 (``src/mem/ruby/SConsopts`` or ``Kconfig``), and 128 in
``build_opts/VEGA_X86`` since pull request 1693.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from apuflow.core.scalar import Scalar
from apuflow.core.units import format_size, size_bytes

TREE = "TreePLRURP"
LINE = 64
UPSTREAM_BITS = 64
"""Bits of a set of controllers in gem5 as upstream builds it, before pull request 1693."""


@dataclass(frozen=True)
class OptionProblem:
    """One thing that is wrong with an option's value."""

    option: str
    value: Scalar
    message: str
    remedy: str


_Problem = tuple[tuple[str, ...], str, str]
"""The options that it is about, what is wrong, how to mend it."""


class _Cache(NamedTuple):
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


def cache_problems(given: Mapping[str, Scalar], options: Mapping[str, Scalar]) -> Iterator[OptionProblem]:
    """What gem5 cannot index, or would index as another size than the one that is asked for.

    Args:
        given: options that were set; of several that decide, the first of these is named.
        options: all options, each acceptable by itself.
    """
    for names, message, remedy in _problems(tuple(map(options.get, _READ))):
        name = next((name for name in names if name in given), names[0])
        yield OptionProblem(name, options[name], message, remedy)


@lru_cache(maxsize=4096)
def _problems(values: tuple[Any, ...]) -> tuple[_Problem, ...]:
    options = dict(zip(_READ, values, strict=True))
    found: list[_Problem] = []
    for cache in _CACHES:
        if cache.size != "tcc-size" or int(options["bw-scalor"]) <= 0:
            found += _cache(cache, options)
    for level in (1, 2, 3):
        if level > 1 or not int(options["tot-L1TLB-size"]):
            found += _tlb(f"L{level}TLBentries", f"L{level}TLBassoc", options)
    return tuple(found)


def _cache(cache: _Cache, options: Mapping[str, Scalar]) -> Iterator[_Problem]:
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


def _tlb(entries: str, ways: str, options: Mapping[str, Scalar]) -> Iterator[_Problem]:
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


@dataclass(frozen=True)
class Controllers:
    """The controllers of one machine type of the protocol; ``options`` decide, the most telling first."""

    machine_type: str
    count: int
    made_of: str
    options: tuple[str, ...]


def controllers(options: Mapping[str, Scalar]) -> tuple[Controllers, ...]:
    """The controllers that ``GPU_VIPER.py`` makes with all these options, but for its two of DMA."""

    def number(name: str) -> int:
        return int(options[name])

    units, processors = number("num-compute-units"), number("num-cp")
    instruction = -(-units // number("cu-per-sqc"))
    scalar = -(-units // number("cu-per-scalar-cache"))
    more = f" and {processors} command processors" if processors else ""
    shared = ("cu-per-sqc", "cu-per-scalar-cache", "num-compute-units", "num-cp")
    caches = f"{instruction} instruction and {scalar} scalar caches{more}"
    per_unit = f"of {units} compute units{more}"
    return (
        Controllers("TCP", units + processors, per_unit, ("num-compute-units", "num-cp")),
        Controllers("SQC", instruction + scalar + processors, caches, shared),
        Controllers("TCC", number("num-tccs"), "num-tccs", ("num-tccs",)),
        Controllers("Directory", number("num-dirs"), "num-dirs", ("num-dirs",)),
        Controllers("CorePair", (number("num-cpus") + 1) // 2, "two CPU cores each", ("num-cpus",)),
    )


def too_many(
    given: Mapping[str, Scalar], options: Mapping[str, Scalar], bits: int
) -> tuple[OptionProblem, ...]:
    """Why gem5 would end at its start: one problem for each option to change.

    Args:
        given: options that were set; of several that decide, the first of these is named.
        options: all of apu_se.py's.
        bits: bits of a set in this gem5 (``capabilities.set_bits`` of its release).
    """
    found: dict[str, OptionProblem] = {}
    for each in controllers(options):
        option = next((name for name in each.options if name in given), each.options[0])
        if each.count <= bits or option in found:
            continue
        found[option] = OptionProblem(
            option,
            options[option],
            f"gem5 ends at its start: {each.count} {each.machine_type} controllers ({each.made_of}), and its "
            f"Ruby sets have {bits} bits (NUMBER_BITS_PER_SET)",
            f"{_fitting(option, options, bits)}; or build gem5 with more bits (a patch of build_opts) and "
            "write `set_bits` in capabilities of its release's file",
        )
    return tuple(found.values())


def _fitting(option: str, options: Mapping[str, Scalar], bits: int) -> str:
    """The nearest value of an option with which its machine types fit."""
    value = int(options[option])
    grows = option.startswith("cu-per-")
    candidates = (
        range(value + 1, int(options["num-compute-units"]) + 1) if grows else range(value - 1, -1, -1)
    )
    for candidate in candidates:
        changed = {**options, option: candidate}
        about = [each for each in controllers(changed) if option in each.options]
        if all(each.count <= bits for each in about):
            return f"at {'least' if grows else 'most'} {candidate}"
    return "fewer compute units" if option != "num-compute-units" else "more compute units to a cache"
