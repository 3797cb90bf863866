"""A model as a program of the launcher: IREE's buffers and launches, with what the inputs hold at first."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Final, NamedTuple

from apuflow.core.errors import ConfigError
from apuflow.kernels.element_types import ELEMENT_BYTES, ElementType
from apuflow.kernels.hal import Extent, HalFunction, HalLaunch, Memory, Shape
from apuflow.kernels.hal_text import read_function
from apuflow.kernels.iree_compiler import compiled_model
from apuflow.kernels.metadata import read_kernels
from apuflow.kernels.program import Code, Fill, Given, Model, Output, OwnBuffer, OwnLaunch
from apuflow.miopen.compiler import split_arguments

HAL_TYPES: Final[Mapping[str, ElementType]] = {
    "f32": "float",
    "f64": "double",
    "f16": "half",
    "bf16": "bfloat16",
    "i1": "uchar",
    "i8": "char",
    "i16": "short",
    "i32": "int",
    "i64": "long",
    "si8": "char",
    "si16": "short",
    "si32": "int",
    "si64": "long",
    "ui8": "uchar",
    "ui16": "ushort",
    "ui32": "uint",
    "ui64": "ulong",
}
_REAL: Final = ("float", "double", "half", "bfloat16")


class ReadModel(NamedTuple):
    """A function of a model for a GPU.

    Attributes:
        objects: by kernel: the code object's name, and its workgroup in work-items.
    """

    function: HalFunction
    objects: Mapping[str, tuple[str, Extent]]


class ModelProgram(NamedTuple):
    """What a model gives an ``OwnProgram``."""

    buffers: tuple[OwnBuffer, ...]
    launches: tuple[OwnLaunch, ...]
    views: Mapping[str, Output]
    model: Model


@lru_cache(maxsize=64)
def read_model(source: Path, identity: str, gfx: str, arguments: str, entry: str) -> ReadModel:
    """Compile a model for its launches.

    Args:
        identity: hash of its files: another one is compiled again. arguments: for iree-compile.
        entry: its function; "": the only one.

    Raises:
        ConfigError: it does not compile, or has what the launcher cannot run; ``file`` is the model.
    """
    del identity
    with compiled_model(source, gfx, split_arguments(arguments)) as made:
        try:
            function = read_function(made.text, entry)
        except ConfigError as error:
            error.file = error.file or str(source)
            raise
        found = {
            kernel.name: (path.stem, kernel.required_workgroup or (kernel.largest_workgroup, 1, 1))
            for path in sorted(made.directory.glob("*.hsaco"))
            for kernel in read_kernels(path)
        }
    return ReadModel(function, found)


def default_fill(number: int, kind: ElementType) -> Fill:
    """What an argument of a model holds where nobody says it: numbers in [0, 1), each its own; integers 0."""
    return Fill("uniform", (number,)) if kind in _REAL else Fill()


def model_program(
    read: ReadModel, source: Path, root: Path, arguments: str, inputs: Mapping[str, Fill]
) -> ModelProgram:
    """The program of a model that was read.

    Args:
        source: its path from the project's directory ``root``.
        inputs: what arguments hold at first, by ``input0`` and so on.

    Raises:
        ConfigError: no such argument, or elements of a type that no buffer has.
    """
    function = read.function
    types = [element_type(shape) for shape in function.inputs]
    names = [f"input{number}" for number in range(len(types))]
    for name in set(inputs) - set(names):
        remedy = f"its arguments: {', '.join(names) or 'none'}"
        raise ConfigError("the model has no such argument", key="inputs", value=name, remedy=remedy)
    buffers = {
        name: OwnBuffer(name, kind, max(1, shape.elements), inputs.get(name, default_fill(number, kind)))
        for number, (name, kind, shape) in enumerate(zip(names, types, function.inputs, strict=True))
    }
    views = dict[str, Output]()
    named = dict[int, str]()
    for number, result in enumerate(function.results):
        memory, shape, name = result.region.memory, result.shape, f"output{number}"
        held = named.setdefault(id(memory), _named(memory, name))
        if held not in buffers:
            buffers[held] = _buffer(held, memory)
        views[name] = Output(held, element_type(shape), shape.elements, result.region.offset)
    transients = 0
    for memory in _memories(function):
        if id(memory) not in named:
            named[id(memory)] = _named(memory, f"transient{transients}")
            transients += memory.kind == "transient"
        name = named[id(memory)]
        buffers.setdefault(name, _buffer(name, memory))
    launches = tuple(_launch(each, read, source, arguments, named, buffers) for each in function.launches)
    shapes = tuple(zip(names, map(str, function.inputs), strict=True))
    model = Model(root / source, function.name, shapes, tuple(views))
    return ModelProgram(tuple(buffers.values()), launches, views, model)


def element_type(shape: Shape) -> ElementType:
    """The type of a tensor's elements; ConfigError for one that no buffer has."""
    if shape.type not in HAL_TYPES:
        remedy = f"one of {', '.join(HAL_TYPES)}"
        raise ConfigError(
            "no buffer has elements of this type", key="source", value=shape.type, remedy=remedy
        )
    return HAL_TYPES[shape.type]


def _memories(function: HalFunction) -> Iterator[Memory]:
    for launch in function.launches:
        for binding in launch.bindings:
            yield binding.memory


def _named(memory: Memory, otherwise: str) -> str:
    return otherwise if memory.kind == "transient" else f"{memory.kind}{memory.number}"


def _buffer(name: str, memory: Memory) -> OwnBuffer:
    fill = Fill("data", data=memory.data) if memory.data else Fill("zero" if memory.filled else "touch")
    return OwnBuffer(name, "uchar", memory.size, fill)


def _launch(
    each: HalLaunch,
    read: ReadModel,
    source: Path,
    arguments: str,
    named: Mapping[int, str],
    buffers: Mapping[str, OwnBuffer],
) -> OwnLaunch:
    if each.kernel not in read.objects:
        message = "IREE's launches name a kernel that is in none of its code objects"
        raise ConfigError(message, key="source", value=each.kernel, remedy="take another form of the model")
    held, (x, y, z) = read.objects[each.kernel]
    code = Code(source, f"{arguments} --object={shlex.quote(held)}".strip())
    given = [_address(named[id(region.memory)], region.offset, buffers) for region in each.bindings]
    given += [Given("integer", number) for number in each.constants]
    grid = (each.workgroups[0] * x, each.workgroups[1] * y, each.workgroups[2] * z)
    return OwnLaunch(code, each.kernel, grid, (x, y, z), tuple(given))


def _address(name: str, offset: int, buffers: Mapping[str, OwnBuffer]) -> Given:
    """A buffer's address with bytes added, which are whole elements."""
    size = ELEMENT_BYTES[buffers[name].type]
    if offset % size:
        remedy = "take another form of the model"
        raise ConfigError(
            f"an address lies inside an element of {name}", key="source", value=offset, remedy=remedy
        )
    return Given("buffer", name, offset // size)
