"""Machines that have more controllers of a kind than gem5's Ruby has bits for.

Ruby keeps sets of controllers as bits, one set for each machine type. A set of more members than
``NUMBER_BITS_PER_SET`` ends gem5 at its start: ``fatal: Number of bits(64) < size specified(65)``.

Source: ``src/mem/ruby/common/Set.hh`` (``setSize``), ``NetDest.cc`` (``resize``: all machine types), the
controllers that ``configs/ruby/GPU_VIPER.py`` makes, ``configs/example/apu_se.py`` (``num_sqc``,
``num_scalar_cache``); the same from v21.1 to develop c91af552. The number: ``src/mem/ruby/SConsopts`` or
``Kconfig`` (64), and ``build_opts/VEGA_X86`` since pull request 1693 (128).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from apuflow.configure.option_rules import OptionProblem
from apuflow.core.scalar import Scalar

UPSTREAM_BITS = 64
"""Bits of a set in gem5 as upstream builds it, before pull request 1693."""


@dataclass(frozen=True)
class Controllers:
    """The controllers of one machine type.

    Attributes:
        machine_type: its name in the protocol.
        count: how many there are.
        made_of: what they are, in words.
        options: options that decide it, the most telling first.
    """

    machine_type: str
    count: int
    made_of: str
    options: tuple[str, ...]


def controllers(options: Mapping[str, Scalar]) -> tuple[Controllers, ...]:
    """The controllers that ``GPU_VIPER.py`` makes, by machine type; its two DMA controllers left out.

    Args:
        options: all of apu_se.py's.
    """

    def number(name: str) -> int:
        return int(options[name])

    units, processors = number("num-compute-units"), number("num-cp")
    instruction = -(-units // number("cu-per-sqc"))
    scalar = -(-units // number("cu-per-scalar-cache"))
    more = f" and {processors} command processors" if processors else ""
    shared = ("cu-per-sqc", "cu-per-scalar-cache", "num-compute-units", "num-cp")
    return (
        Controllers(
            "TCP", units + processors, f"of {units} compute units{more}", ("num-compute-units", "num-cp")
        ),
        Controllers(
            "SQC",
            instruction + scalar + processors,
            f"{instruction} instruction and {scalar} scalar caches{more}",
            shared,
        ),
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
    return tuple(_too_many(given, options, bits))


def _too_many(
    given: Mapping[str, Scalar], options: Mapping[str, Scalar], bits: int
) -> Iterator[OptionProblem]:
    named: set[str] = set()
    for each in controllers(options):
        if each.count <= bits:
            continue
        option = next((name for name in each.options if name in given), each.options[0])
        if option in named:
            continue
        named.add(option)
        yield OptionProblem(
            option,
            options[option],
            f"gem5 ends at its start: {each.count} {each.machine_type} controllers ({each.made_of}), and its "
            f"Ruby sets have {bits} bits (NUMBER_BITS_PER_SET)",
            f"{_fitting(option, options, bits)}; or build gem5 with more bits (a patch of build_opts) and "
            "write `set_bits` in capabilities of its release's file",
        )


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
