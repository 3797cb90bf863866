"""Is a set of option values one that this gem5 release can run? Says everything that is wrong, not the first.

Source of the rules: gem5 v23.0.1.0 ``apu_se.py`` (lines 397-413, 645-649, 937-964), ``GPU_VIPER.py``
(276-294, 494-560), ``GPUTLBConfig.py``, ``src/gpu-compute/{shader,compute_unit,lds_state,register_file}.cc``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from apuflow.configure.catalogue import RELEASES, Option, catalogue
from apuflow.configure.meant import meant_option
from apuflow.configure.structure_rules import OptionProblem, cache_problems
from apuflow.core.gpus import GPUS
from apuflow.core.scalar import Scalar
from apuflow.core.units import clock_hertz, format_clock, format_size, size_bytes, volts

_NAME = re.compile(r"[A-Za-z0-9_-]+")
MAX_INT = 2**31 - 1
"""gem5's parameters are C ints."""


def check_one(name: str, value: object, release: str) -> OptionProblem | None:
    """What is wrong with one option at one value, taken alone."""
    if isinstance(value, (bool, int, float, str)):
        return _check_one(name, value, release)
    return _check_one.__wrapped__(name, value, release)


@lru_cache(maxsize=65536, typed=True)
def _check_one(name: str, value: Any, release: str) -> OptionProblem | None:
    option = catalogue().get(name)
    shown: Scalar = value if isinstance(value, (bool, int, float, str)) else str(value)
    if option is None:
        return OptionProblem(name, shown, "apu_se.py has no such option", meant_option(name))
    problem = _role_problem(option, release) or _value_problem(option, value, release)
    return None if problem is None else OptionProblem(name, shown, *problem)


def check(options: Mapping[str, Scalar], release: str) -> tuple[OptionProblem, ...]:
    """What is wrong with these options of a release together: each alone, then the rules between them.

    Options that are left out have the release's default.
    """
    alone = tuple(p for name, value in options.items() if (p := check_one(name, value, release)) is not None)
    if alone:
        return alone
    full = {**_defaults(release), **options}
    return (*_together(options, full, release), *cache_problems(options, full))


def defaults(release: str) -> dict[str, Scalar]:
    """Every option that this workflow passes to ``apu_se.py``, at its default.

    Options without a default (thresholds, prefetchers) are absent; ``mem-size`` has gem5's 512 MB here, which
    ``apuflow.engines.resolve`` replaces by what the workload needs.
    """
    return dict(_defaults(release))


@lru_cache(maxsize=len(RELEASES))
def _defaults(release: str) -> Mapping[str, Scalar]:
    known = {
        name: option.default_at(release) if option.workflow_default is None else option.workflow_default
        for name, option in catalogue().items()
        if option.role == "machine" and option.known_to(release)
    }
    return {name: value for name, value in known.items() if value is not None}


@lru_cache(maxsize=1)
def _garnet_options() -> tuple[str, ...]:
    return tuple(name for name, option in catalogue().items() if option.needs_garnet)


def canonical(name: str, value: Scalar) -> Scalar:
    """The one spelling of a value: ``1024kB`` and ``1MB`` must not be different machines."""
    option = catalogue()[name]
    if option.type == "size":
        size = value if isinstance(value, int) else size_bytes(str(value))
        return value if size is None else format_size(size)
    if option.type == "clock":
        hertz = clock_hertz(str(value))
        return value if hertz is None else format_clock(hertz)
    return value


def quantity(name: str, value: Scalar) -> object:
    """What a value means, so that two spellings of one are equal: ``900mV`` and ``0.9V``."""
    if catalogue()[name].type == "voltage" and isinstance(value, str):
        return volts(value) or value
    return canonical(name, value)


def resolve(given: Mapping[str, Scalar], release: str) -> dict[str, Scalar]:
    """All options: the given ones over the release's defaults."""
    return {**_defaults(release), **{name: canonical(name, value) for name, value in given.items()}}


def _role_problem(option: Option, release: str) -> tuple[str, str] | None:
    if not option.known_to(release):
        first = RELEASES[0] if option.since is None else option.since
        last = RELEASES[-1] if option.until is None else option.until
        return f"gem5 {release} has no such option", f"releases {first} to {last} have it; leave it out"
    instead = f"use {option.instead}" if option.instead else "leave it out"
    if option.needless:
        instead = f"leave it out ({option.needless})"
    if option.role == "ignored":
        return "apu_se.py accepts this option and ignores it", instead
    if option.role == "refused":
        why = f": {option.meaning}" if option.meaning else ""
        return f"apu_se.py accepts this option, but it does not work here{why}", instead
    if option.role == "workflow":
        return f"this workflow sets it ({option.meaning})", f"leave it out: {option.instead}"
    return None


def _value_problem(option: Option, value: object, release: str) -> tuple[str, str] | None:
    wrong = _type_problem(option, value)
    if wrong is not None:
        return wrong
    choices = option.choices_at(release)
    if choices and value not in choices:
        others = [each for each in RELEASES if option.known_to(each) and value in option.choices_at(each)]
        elsewhere = f"; releases {' and '.join(others)} run {value}" if others else ""
        return f"gem5 {release} cannot run this value", f"one of {', '.join(map(str, choices))}{elsewhere}"
    if isinstance(value, bool) or not isinstance(value, int) or option.type != "int":
        return None
    maximum = MAX_INT if option.maximum is None else option.maximum
    if (option.minimum is not None and value < option.minimum) or value > maximum:
        return "out of range", f"{option.minimum} to {maximum}"
    if option.power_of_two and value & (value - 1):
        below = 1 << (value.bit_length() - 1)
        message = "must be a power of two: gem5 takes the logarithm and addresses fewer of them"
        return message, f"{below} or {below * 2}"
    if option.multiple_of and value % option.multiple_of:
        return f"must be a multiple of {option.multiple_of}", f"{value - value % option.multiple_of}"
    return None


def _type_problem(option: Option, value: object) -> tuple[str, str] | None:
    kind = option.type
    whole = isinstance(value, int) and not isinstance(value, bool)
    if kind == "flag":
        return None if isinstance(value, bool) else ("true or false is expected", "true gives the flag")
    if kind == "int":
        example = f"for example {option.default or option.minimum or 1}"
        return None if whole else ("a whole number is expected", example)
    if kind == "size":
        size = size_bytes(value) if isinstance(value, str) else whole and value
        return None if size else ("a size above zero is expected", _size_remedy(str(value)))
    if not isinstance(value, str):
        unit = {"clock": "GHz", "voltage": "V"}.get(kind)
        if unit and isinstance(value, (int, float)) and not isinstance(value, bool):
            shown = value if 0 < value < math.inf else 1
            return f"a {kind} is expected, with its unit", f"for example {shown:g}{unit}"
        return "text is expected", "quote it"
    if kind == "clock" and clock_hertz(value) is None:
        return "a clock is expected", "for example 1GHz or 800MHz"
    if kind == "voltage" and volts(value) is None:
        return "a voltage is expected", "for example 1.0V"
    if kind == "text" and not _NAME.fullmatch(value):
        return "a name of letters, digits, - and _ is expected", "see docs/configuration.md"
    return None


def _size_remedy(text: str) -> str:
    """The size that is meant by ``0.25MB``, ``256 KB`` or ``256k``, as gem5 reads it."""
    match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*(?=[kmgtb])([kmgt]?)i?b?\s*", text.lower())
    if match is not None:
        size = float(match[1]) * 1024 ** " kmgt".index(match[2] or " ")
        if size >= 1 and size.is_integer():
            meant = format_size(int(size))
            return f"write {meant}; a size is a whole number and B, kB, MB, GB or TB, as in 16kB"
    return "for example 16kB, 4MB, 2GB"


def _together(
    given: Mapping[str, Scalar], options: Mapping[str, Scalar], release: str
) -> Iterator[OptionProblem]:
    """Rules between the values of several options."""

    def problem(name: str, message: str, remedy: str) -> OptionProblem:
        return OptionProblem(name, options[name], message, remedy)

    def number(name: str) -> int:
        return int(options[name])

    gfx, dgpu = options["gfx-version"], bool(options["dgpu"])
    alike = [name for name, gpu in GPUS.items() if gpu.discrete == dgpu]
    if gfx not in alike:
        wrong = "is an APU, but dgpu is true" if dgpu else "is a discrete GPU and needs dgpu"
        remedy = "leave dgpu out" if dgpu else "set dgpu: true"
        yield problem("gfx-version", wrong, f"{' or '.join(alike)}, or {remedy}")
    if options["TLB-config"] == "2CU" and number("num-compute-units") % 2:
        wrong, remedy = "2CU needs an even number of compute units", "perCU, or an even num-compute-units"
        yield problem("TLB-config", wrong, remedy)
    if "cu-per-sa" in given or "sa-per-complex" in given:
        units, array, arrays = map(number, ("num-compute-units", "cu-per-sa", "sa-per-complex"))
        if units % array or array * arrays > units:
            yield OptionProblem(
                "cu-per-sa" if "cu-per-sa" in given else "sa-per-complex",
                f"{arrays} of {array}",
                f"{units} compute units cannot be made of shader arrays like these "
                "(sa-per-complex of cu-per-sa)",
                "leave both out: one array of all units; or sizes that divide num-compute-units",
            )
    granule = number("vreg-min-alloc")
    for name in ("vreg-file-size", "sreg-file-size"):
        if number(name) % granule:
            wrong = f"must be a multiple of vreg-min-alloc ({granule}), which both register files use"
            yield problem(name, wrong, f"{number(name) // granule * granule or granule}")
    if number("bw-scalor") > 0 and size_bytes(str(options.get("tcc-size", "256kB"))) != 256 * 1024:
        wrong = "has no effect when bw-scalor is above 0: gem5 then gives the TCC 128 kB per compute unit"
        yield problem("tcc-size", wrong, "leave tcc-size out, or set bw-scalor to 0")
    if dgpu and options["m-type"] not in (5, 6):
        yield problem("m-type", "dgpu always sets it to 6", "leave m-type out")
    if "pf-type" in options and "TLB-prefetch" not in options:
        yield problem("pf-type", "has no effect without TLB-prefetch", "set TLB-prefetch too")
    if options["network"] == "simple":
        for name in _garnet_options():
            if name in options and options[name] != _defaults(release)[name]:
                yield problem(name, "has an effect in garnet only", "set network: garnet, or leave it out")
