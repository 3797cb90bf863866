"""What a workload of kind ``kernels`` runs with its parameters' values: buffers and launches."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from apuflow.configure.kernel_file import (
    ArgumentFile,
    Constant,
    ConstantFile,
    ContentsFile,
    KernelsFile,
    LaunchFile,
)
from apuflow.core.errors import ConfigError
from apuflow.core.expression import evaluate, positive, text_with
from apuflow.kernels import triton_launch
from apuflow.kernels.element_types import ELEMENT_TYPES, TRITON_TYPES, ElementType
from apuflow.kernels.iree_model import ModelProgram, model_program, read_model
from apuflow.kernels.program import Code, Fill, FillKind, Given, OwnBuffer, OwnLaunch, Pointer
from apuflow.kernels.sources import check_gpu, language, source_identity
from apuflow.miopen.launch import Extent

MOST_LAUNCHES: Final = 10_000
"""Of one point: gem5 writes a block of statistics for each."""


def own_buffers(
    spec: KernelsFile, parameters: Mapping[str, int | str], directory: Path
) -> tuple[OwnBuffer, ...]:
    """The memory of a workload's file, which lies in ``directory``; ConfigError for a size that cannot be."""
    names = _numbers(parameters)
    return tuple(
        OwnBuffer(
            name,
            _type(each.type, parameters, f"buffers.{name}.type"),
            positive(each.elements, names, f"buffers.{name}.elements"),
            _fill(each.contents, directory),
        )
        for name, each in spec.buffers.items()
    )


def own_model(
    spec: KernelsFile, parameters: Mapping[str, int | str], gfx: str, directory: Path, root: Path
) -> ModelProgram:
    """What IREE makes of a workload's model for a GPU; it is compiled for that.

    Raises:
        ConfigError: it cannot be compiled or run.
    """
    source = directory / text_with(spec.source, {"gfx": gfx}, "source")
    arguments = text_with(spec.compile, {**parameters, "gfx": gfx}, "compile")
    check_gpu(source, gfx)
    fills = {name: _fill(each, root / directory) for name, each in spec.inputs.items()}
    read = read_model(root / source, source_identity(root / source), gfx, arguments, spec.entry or "")
    return model_program(read, source, root, arguments, fills)


def own_launches(
    spec: KernelsFile,
    parameters: Mapping[str, int | str],
    gfx: str,
    memory: Sequence[OwnBuffer],
    directory: Path,
    root: Path,
) -> Iterator[OwnLaunch]:
    """The launches of a workload's file, repetitions unrolled.

    Args:
        memory: its buffers.
        directory: where it lies, from the project's directory ``root``.

    Raises:
        ConfigError: a wrong expression, too many launches, or one that does not fit its Triton kernel.
    """
    numbers, count = _numbers(parameters), 0
    made: tuple[Mapping[str, int], OwnLaunch] | None = None
    for number, each in enumerate(spec.launches):
        key = f"launches.{number}"
        for names in _repetitions(each.repeat, numbers, f"{key}.repeat"):
            count += 1
            if count > MOST_LAUNCHES:
                message, remedy = f"more than {MOST_LAUNCHES} launches", "launch a kernel fewer times"
                raise ConfigError(message, key=f"{key}.repeat", value=str(each.repeat), remedy=remedy)
            if made is None or made[0] is not names:
                now = _Repetition(parameters, names, gfx, memory, directory, root)
                made = names, _of_file(spec, each, now, key)
            yield made[1]
        made = None


def own_pointers(
    spec: KernelsFile, gfx: str, memory: Sequence[OwnBuffer], launches: Sequence[OwnLaunch], directory: Path
) -> Iterator[Pointer]:
    """The addresses that stand in memory.

    Raises:
        ConfigError: one does not fit, or no launch uses the code object that it is in.
    """
    buffers = {each.name: each for each in memory}
    codes = {each.code.source: each.code for each in launches}
    for number, each in enumerate(spec.addresses):
        key = f"addresses.{number}"
        if each.offset > buffers[each.to].size:
            size = f"{buffers[each.to].size:,} bytes"
            raise ConfigError(f"{each.to} has {size}", key=f"{key}.offset", value=each.offset)
        if each.buffer is not None:
            if each.place + 8 > buffers[each.buffer].size:
                size = f"{buffers[each.buffer].size:,} bytes"
                raise ConfigError(f"{each.buffer} has {size}", key=f"{key}.place", value=each.place)
            yield Pointer(each.buffer, each.place, each.to, each.offset)
            continue
        source = directory / text_with(each.source or "", {"gfx": gfx}, f"{key}.source")
        if source not in codes:
            known = ", ".join(sorted({path.name for path in codes}))
            remedy = f"one of {known}"
            raise ConfigError("no launch uses it", key=f"{key}.source", value=each.source, remedy=remedy)
        yield Pointer(codes[source], each.place, each.to, each.offset)


class _Repetition(NamedTuple):
    """What a launch of the file is read with; ``names``: numbers of its expressions."""

    parameters: Mapping[str, int | str]
    names: Mapping[str, int]
    gfx: str
    memory: Sequence[OwnBuffer]
    directory: Path
    root: Path


def _repetitions(
    repeat: int | str | Mapping[str, int | str], names: Mapping[str, int], key: str
) -> Iterator[Mapping[str, int]]:
    """The numbers that the expressions of each repetition know."""
    if not isinstance(repeat, Mapping):
        yield from itertools.repeat(names, positive(repeat, names, key))
        return
    for name in repeat:
        if name in names:
            raise ConfigError("this name has a meaning already", key=key, value=name, remedy="choose another")
    yield from _counted(list(repeat.items()), names, key)


def _counted(
    counters: Sequence[tuple[str, int | str]], names: Mapping[str, int], key: str
) -> Iterator[Mapping[str, int]]:
    if not counters:
        yield names
        return
    (name, times), *inner = counters
    for count in range(evaluate(times, names, f"{key}.{name}")):
        yield from _counted(inner, {**names, name: count}, key)


def _of_file(spec: KernelsFile, each: LaunchFile, now: _Repetition, key: str) -> OwnLaunch:
    buffers = {buffer.name: buffer for buffer in now.memory}
    source = now.directory / text_with(each.source or spec.source, {"gfx": now.gfx}, "source")
    given = tuple(
        _given(argument, now.names, buffers, f"{key}.arguments.{place}")
        for place, argument in enumerate(each.arguments)
    )
    if language(source) == "triton":
        made = _triton(each, now.parameters, key)
        compiled = triton_launch.compile_arguments(now.root / source, made, given, buffers, key)
        x, y, z = _extent(each.grid, now.names, f"{key}.grid")
        grid, workgroup = (x * made.workgroup, y, z), (made.workgroup, 1, 1)
        return OwnLaunch(Code(source, compiled), each.kernel, grid, workgroup, given, weight=each.weight)
    arguments, place = (spec.compile, "compile") if each.compile is None else (each.compile, f"{key}.compile")
    code = Code(source, text_with(arguments, {**now.parameters, "gfx": now.gfx}, place))
    return _launch(each, code, now.names, given, key)


def _numbers(parameters: Mapping[str, int | str]) -> dict[str, int]:
    """The parameters that expressions may name."""
    return {name: value for name, value in parameters.items() if isinstance(value, int)}


def _type(word: str, parameters: Mapping[str, int | str], key: str) -> ElementType:
    """A type of elements, or the one that a parameter has."""
    found = parameters.get(word, word)
    for name in ELEMENT_TYPES:
        if name == found:
            return name
    remedy = f"one of {', '.join(ELEMENT_TYPES)}, or a parameter that has one"
    raise ConfigError("not a type of elements", key=key, value=found, remedy=remedy)


def _fill(contents: ContentsFile | FillKind, directory: Path) -> Fill:
    if isinstance(contents, str):
        return Fill(contents, (0,) if contents == "uniform" else ())
    values: dict[str, tuple[float, ...]] = {
        "uniform": (contents.uniform or 0,),
        "modulo": (contents.seed, contents.modulo or 256),
        "constant": (contents.constant or 0,),
        "values": contents.values or (),
    }
    file = None if contents.file is None else directory / contents.file
    return Fill(contents.kind, values.get(contents.kind, ()), file)


def _launch(
    spec: LaunchFile, code: Code, names: Mapping[str, int], given: tuple[Given, ...], key: str
) -> OwnLaunch:
    grid = _extent(spec.grid, names, f"{key}.grid")
    workgroup = _extent(spec.workgroup, names, f"{key}.workgroup")
    lds = evaluate(spec.lds, names, f"{key}.lds")
    if lds < 0:
        raise ConfigError("a size is not negative", key=f"{key}.lds", value=lds, remedy="give bytes")
    x, y, z = (*(evaluate(each, names, f"{key}.offset") for each in spec.offset), 0, 0, 0)[:3]
    if min(x, y, z) < 0:
        value = ", ".join(map(str, (x, y, z)))
        raise ConfigError("work-items have no negative numbers", key=f"{key}.offset", value=value)
    return OwnLaunch(code, spec.kernel, grid, workgroup, given, lds, (x, y, z), spec.weight)


def _triton(spec: LaunchFile, parameters: Mapping[str, int | str], key: str) -> triton_launch.TritonLaunch:
    constants = {
        name: _constant(each, parameters, f"{key}.constexprs.{name}")
        for name, each in spec.constexprs.items()
    }
    names = _numbers(parameters)
    options = {name: evaluate(each, names, f"{key}.{name}") for name, each in spec.options.items()}
    return triton_launch.TritonLaunch(spec.kernel, constants, options, spec.divisible_by_16, spec.specialize)


def _constant(given: Constant, known: Mapping[str, int | str], key: str) -> triton_launch.Constant:
    if isinstance(given, ConstantFile):
        if given.string is not None:
            return given.string
        return {"type": TRITON_TYPES[_type(str(given.type), known, key)]}
    return evaluate(given, _numbers(known), key) if isinstance(given, str) else given


def _extent(sizes: tuple[int | str, ...], names: Mapping[str, int], key: str) -> Extent:
    x, y, z = (*(positive(size, names, key) for size in sizes), 1, 1)[:3]
    return x, y, z


def _given(
    argument: ArgumentFile | float | str, names: Mapping[str, int], buffers: Mapping[str, object], key: str
) -> Given:
    if isinstance(argument, str) and argument in buffers:
        return Given("buffer", argument)
    if isinstance(argument, (int, str)):
        return Given("integer", evaluate(argument, names, key))
    if isinstance(argument, float):
        return Given("real", argument)
    if argument.buffer is not None:
        if argument.buffer not in buffers:
            remedy = f"buffers: {', '.join(buffers)}"
            raise ConfigError("not a buffer", key=key, value=argument.buffer, remedy=remedy)
        return Given("buffer", argument.buffer, evaluate(argument.offset, names, key))
    if argument.bytes is not None:
        places = {int(place): name for place, name in argument.addresses.items()}
        for place, name in places.items():
            if name not in buffers or not 0 <= place <= len(argument.bytes) // 2 - 8 or place % 8:
                known = f"buffers: {', '.join(buffers)}; places: multiples of 8 inside the bytes"
                raise ConfigError("no buffer, or no place for its address", key=key, value=name, remedy=known)
        return Given("bytes", argument.bytes, addresses=tuple(places.items()))
    if argument.lds is not None:
        return Given("lds", positive(argument.lds, names, f"{key}.lds"))
    for kind in ("half", "float", "double"):
        if (value := getattr(argument, kind)) is not None:
            return Given("real", value, type=kind)
    raise AssertionError(argument)
