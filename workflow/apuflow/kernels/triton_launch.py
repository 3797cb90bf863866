"""A Triton launch of a workload's file: held against its kernel's source, and what it is compiled with."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

from apuflow.core.errors import ConfigError
from apuflow.kernels.element_types import ELEMENT_BYTES, TRITON_TYPES
from apuflow.kernels.program import Given, OwnBuffer
from apuflow.kernels.triton_file import Function, foreign, functions

Constant: TypeAlias = bool | int | float | str | Mapping[str, str] | None
"""A constexpr; ``{"type": "fp16"}`` is Triton's type of that name."""
WAVE: Final = 64
MOST_WARPS: Final = 16
PROMISE: Final = 16
"""What ``divisible_by_16`` promises of a number, and of an address in bytes."""


class TritonLaunch(NamedTuple):
    """What a launch says of its kernel beside its arguments.

    Attributes:
        options: Triton's, as the file has them; ``num_warps`` may be left out.
        divisible: parameters that are promised to be divisible by 16.
        specialized: those that may be, which this launch decides.
    """

    kernel: str
    constexprs: Mapping[str, Constant]
    options: Mapping[str, int]
    divisible: Sequence[str]
    specialized: Sequence[str] = ()

    @property
    def workgroup(self) -> int:
        """Work-items of a workgroup."""
        return WAVE * self.options.get("num_warps", 4)


def compile_arguments(
    source: Path, launch: TritonLaunch, given: Sequence[Given], buffers: Mapping[str, OwnBuffer], key: str
) -> str:
    """The arguments that the launch's code object is compiled with (``kernels.triton_process``).

    Args:
        given: the launch's arguments.
        key: where it stands in its file.

    Raises:
        ConfigError: it does not fit the kernel, or Triton or AMD's GPUs do not have what it wants.
    """
    function = _function(source, launch, key)
    _check_warps(launch, key)
    wanted = [
        name
        for name in function.parameters
        if name not in launch.constexprs and name not in function.constexprs
    ]
    if len(wanted) != len(given):
        message = f"the kernel takes {len(wanted)} arguments ({', '.join(wanted)})"
        remedy = "arguments are its parameters in order, without those that constexprs gives"
        value = f"{len(given)} arguments"
        raise ConfigError(message, key=f"{key}.arguments", value=value, remedy=remedy)
    types = {
        name: _type(each, buffers, f"{key}.arguments.{number}")
        for number, (name, each) in enumerate(zip(wanted, given, strict=True))
    }
    by_name = dict(zip(wanted, given, strict=True))
    _check_promises(launch, by_name, buffers, key)
    divisible = {*launch.divisible, *_fitting(launch, by_name, buffers, key)}
    order = {
        "kernel": launch.kernel,
        "signature": types,
        "constexprs": dict(launch.constexprs),
        "options": {"num_warps": 4, **launch.options},
        "divisible_by_16": sorted(divisible),
    }
    return f"--launch={shlex.quote(json.dumps(order, separators=(',', ':')))}"


def _function(source: Path, launch: TritonLaunch, key: str) -> Function:
    """The kernel, if it is one and the launch gives all that is constant in it."""
    known = functions(source)
    found = known.get(launch.kernel)
    if found is None or not found.jitted:
        names = ", ".join(each.name for each in known.values() if each.jitted) or "none"
        what = "the file has no such function" if found is None else "the function has no @triton.jit"
        remedy = f"functions with @triton.jit: {names}"
        raise ConfigError(what, file=source, key=f"{key}.kernel", value=launch.kernel, remedy=remedy)
    missing = [
        name
        for name in found.parameters
        if name in found.constexprs - found.defaults and name not in launch.constexprs
    ]
    tuned = any("autotune" in name for name in found.tuners)
    if found.tuners and (missing or (tuned and "num_warps" not in launch.options)):
        options = ["num_warps", *missing] if tuned else missing
        what = f"the kernel has @{found.tuners[0]}, which chooses on a GPU at run time"
        remedy = (
            f"give num_warps and constexprs ({', '.join(options)}); a sweep over parameters compares them"
        )
        raise ConfigError(what, file=source, key=f"{key}.constexprs", value=launch.kernel, remedy=remedy)
    _check_names(found, missing, "a constexpr of the kernel has no value", f"{key}.constexprs")
    named = {
        "constexprs": list(launch.constexprs),
        "divisible_by_16": list(launch.divisible),
        "specialize": list(launch.specialized),
    }
    for place, given in named.items():
        unknown = [name for name in given if name not in found.parameters]
        _check_names(found, unknown, "the kernel has no such parameter", f"{key}.{place}")
    if (only := foreign(source, launch.kernel)) is not None:
        what, remedy = f"the kernel is for NVIDIA's GPUs: {only}", "take a kernel of plain triton.language"
        raise ConfigError(what, file=source, key=f"{key}.kernel", value=launch.kernel, remedy=remedy)
    return found


def _check_names(function: Function, names: Sequence[str], what: str, key: str) -> None:
    if names:
        constant = ", ".join(name for name in function.parameters if name in function.constexprs) or "none"
        remedy = f"its parameters: {', '.join(function.parameters)}; constexprs among them: {constant}"
        raise ConfigError(what, key=key, value=", ".join(names), remedy=remedy)


def _check_warps(launch: TritonLaunch, key: str) -> None:
    warps = launch.options.get("num_warps", 4)
    if warps < 1 or warps > MOST_WARPS or warps & (warps - 1):
        remedy = f"1, 2, 4, 8 or {MOST_WARPS}"
        raise ConfigError("not a number of warps", key=f"{key}.num_warps", value=warps, remedy=remedy)


def _type(given: Given, buffers: Mapping[str, OwnBuffer], key: str) -> str:
    match given.kind:
        case "buffer":
            return f"*{TRITON_TYPES[buffers[str(given.value)].type]}"
        case "integer":
            return "i32" if -(1 << 31) <= int(given.value) < 1 << 31 else "i64"
        case "real" if given.type != "half":
            return "fp64" if given.type == "double" else "fp32"
    remedy = "a buffer, a whole number, or a number with a point ({float: 2}, {double: 2})"
    raise ConfigError("not an argument of a Triton kernel", key=key, value=given.kind, remedy=remedy)


def _check_promises(
    launch: TritonLaunch, given: Mapping[str, Given], buffers: Mapping[str, OwnBuffer], key: str
) -> None:
    """Raise ConfigError where a parameter is not as divisible as the launch promises."""
    for name in launch.divisible:
        value, unit = _measured(name, given, buffers, f"{key}.divisible_by_16")
        if value % PROMISE:
            what = f"this launch breaks its promise: {name} is {value}{unit}"
            remedy = "name it under specialize, or change the size"
            raise ConfigError(what, key=f"{key}.divisible_by_16", value=name, remedy=remedy)


def _fitting(
    launch: TritonLaunch, given: Mapping[str, Given], buffers: Mapping[str, OwnBuffer], key: str
) -> Iterator[str]:
    """Parameters among ``specialized`` that this launch has divisible by 16."""
    for name in launch.specialized:
        if _measured(name, given, buffers, f"{key}.specialize")[0] % PROMISE == 0:
            yield name


def _measured(
    name: str, given: Mapping[str, Given], buffers: Mapping[str, OwnBuffer], key: str
) -> tuple[int, str]:
    """What has to be divisible of an argument, the number or bytes into the buffer, and words of its unit."""
    each = given.get(name)
    if each is None or each.kind == "real":
        remedy = "name buffers and whole numbers among the arguments"
        raise ConfigError("nothing to promise", key=key, value=name, remedy=remedy)
    if each.kind == "buffer":
        return each.offset * ELEMENT_BYTES[buffers[str(each.value)].type], " bytes into its buffer"
    return int(each.value), ""
