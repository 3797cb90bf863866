"""A dispatch list of another program as a workload of kind ``kernels``: its YAML document and its files."""

from __future__ import annotations

import hashlib
import math
import re
import struct
from collections.abc import Iterator, Mapping
from io import BytesIO
from itertools import groupby
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from apuflow.core.errors import ConfigError
from apuflow.kernels.element_types import ELEMENT_BYTES, NUMPY_TYPES, ElementType
from apuflow.kernels.metadata import LDS_POINTER, Kernel, KernelsBySource, Parameter, find_kernel
from apuflow.launcher.dispatch_list import (
    FROM_FILE,
    SCALARS,
    Argument,
    Buffer,
    Dispatch,
    DispatchList,
    Dump,
    Pointer,
)

Document: TypeAlias = dict[str, Any]
_SIZES: Final = {"buffer": 8, **{name: struct.calcsize(code) for name, (_, code) in SCALARS.items()}}
_GUEST_MADE: Final = ("zero", "touch", "untouched")

REFERENCE: Final = '''\
"""What the program that wrote the dispatch list had in these buffers after the last launch."""

from pathlib import Path

import numpy as np

TYPES = {types!r}


def expected(buffers, parameters):
    here = Path(__file__).parent
    return {{name: np.fromfile(here / f"expected-{{name}}.bin", kind) for name, kind in TYPES.items()}}
'''

PACKED: Final = '''\
"""What these buffers held before the first launch that uses them, and after the last one."""

from pathlib import Path

import numpy as np

MEMORY = np.load(Path(__file__).with_name({file!r}))


def expected(buffers, parameters):
    return {{name: MEMORY[f"after {{name}}"] for name in {after!r}}}


def contents(parameters):
    return {{name: MEMORY[f"before {{name}}"] for name in {before!r}}}
'''


class Block(NamedTuple):
    """Arguments of a launch as they lie in memory, at their natural alignment.

    Attributes:
        data: the bytes; 0 where an address comes.
        addresses: by place: the buffer whose address stands there, and the bytes added to it.
    """

    data: bytes
    addresses: Mapping[int, tuple[str, int]]


def packed(arguments: tuple[Argument, ...]) -> Block:
    """The argument block that the launcher makes of a list's arguments."""
    data, addresses = bytearray(), {}
    for argument in arguments:
        size = _SIZES[argument.kind]
        data += bytes(-len(data) % size)
        if argument.kind == "buffer":
            addresses[len(data)] = str(argument.value), argument.offset
            data += bytes(size)
        else:
            data += int(argument.value).to_bytes(size, "little")
    return Block(bytes(data), addresses)


def document(
    given: DispatchList,
    kernels: KernelsBySource,
    objects: Mapping[Path, str],
    recorded: Mapping[str, bytes],
    *,
    compressed: bool = False,
    compiled: Mapping[Path, str] | None = None,
) -> tuple[Document, dict[str, bytes]]:
    """The workload of a list.

    Args:
        kernels: of each code object of the list.
        objects: by code object: its name beside the workload's file.
        recorded: by buffer: what the other program had there after the last launch.
        compressed: one file has the contents of all buffers, which the reference reads.
        compiled: by code object that the workload has the source of: arguments for its compiler.

    Returns:
        the YAML document without its head, and files below the workload's own directory, by name.

    Raises:
        ConfigError: something that a workload cannot say.
    """
    types = dict(_types(given, kernels))
    files: dict[str, bytes] = {}
    buffers = {}
    for buffer in given.buffers:
        buffers[buffer.name], data = _buffer(buffer, types[buffer.name], given.data)
        if data is not None:
            files[f"{buffer.name}.bin"] = data
    launches = []
    for dispatch, same in groupby(given.dispatches):
        kernel = find_kernel(kernels[dispatch.object], dispatch.kernel, dispatch.object)
        launch = _launch(dispatch, kernel, types)
        if len(objects) > 1:
            launch["source"] = objects[dispatch.object]
        if arguments := (compiled or {}).get(dispatch.object):
            launch["compile"] = re.sub(r"[{}]", r"\g<0>\g<0>", arguments)
        if dispatch.weight != 1:
            launch["weight"] = int(dispatch.weight) if dispatch.weight.is_integer() else dispatch.weight
        count = len(list(same))
        launches.append(launch | ({"repeat": count} if count > 1 else {}))
    made: Document = {"source": next(iter(objects.values())), "buffers": buffers}
    if given.pointers:
        made["addresses"] = [_pointer(each, objects) for each in given.pointers]
    made["launches"] = launches
    if recorded:
        made |= {"outputs": list(recorded), "reference": "reference.py"}
        kinds = {name: NUMPY_TYPES[types[name]] for name in recorded}
        if compressed:
            return made, _packed(buffers, files, kinds, recorded, types)
        files["reference.py"] = REFERENCE.format(types=kinds).encode()
        files |= {f"expected-{name}.bin": data for name, data in recorded.items()}
    return made, files


def _packed(
    buffers: dict[str, Document],
    files: Mapping[str, bytes],
    kinds: Mapping[str, str],
    recorded: Mapping[str, bytes],
    types: Mapping[str, ElementType],
) -> dict[str, bytes]:
    """The reference that makes contents, too, and the file that it reads; ``buffers`` then say so."""
    before = [name for name in buffers if f"{name}.bin" in files]
    for name in before:
        buffers[name]["contents"] = "reference"
    arrays: dict[str, Any] = {
        f"after {name}": np.frombuffer(data, kinds[name]) for name, data in recorded.items()
    }
    for name in before:
        arrays[f"before {name}"] = np.frombuffer(files[f"{name}.bin"], NUMPY_TYPES[types[name]])
    written = BytesIO()
    np.savez_compressed(written, **arrays)
    data = written.getvalue()
    file = f"memory-{hashlib.sha256(data).hexdigest()[:16]}.npz"  # the workload's identity has this name
    text = PACKED.format(file=file, after=list(recorded), before=before)
    return {"reference.py": text.encode(), file: data}


def outputs(given: DispatchList) -> Iterator[Dump]:
    """The buffers that a list writes to files; raises ConfigError for one written before the last launch."""
    last = max(number for number, step in enumerate(given.steps) if isinstance(step, Dispatch))
    for number, step in enumerate(given.steps):
        if isinstance(step, Dump):
            if number < last:
                raise ConfigError(
                    "a buffer is written before the last launch",
                    key=f"dump {step.buffer}",
                    remedy="a workload's outputs are read after all launches: cut the list there",
                )
            yield step


def _types(given: DispatchList, kernels: KernelsBySource) -> Iterator[tuple[str, ElementType]]:
    """Buffers with the type that the kernels give them; where none or several do, words without a sign."""
    named: dict[str, set[str]] = {buffer.name: set() for buffer in given.buffers}
    offsets: dict[str, set[int]] = {buffer.name: set() for buffer in given.buffers}
    for dispatch in dict.fromkeys(given.dispatches):
        kernel = find_kernel(kernels[dispatch.object], dispatch.kernel, dispatch.object)
        addresses = packed(dispatch.arguments).addresses
        for parameter in kernel.given:
            if parameter.offset in addresses:
                name, offset = addresses[parameter.offset]
                named[name].add(parameter.type_name.rstrip("*"))
                offsets[name].add(offset)
    for buffer in given.buffers:
        found = named[buffer.name] - {"", "void"}
        word = found.pop() if len(found) == 1 else "float" if buffer.contents.kind == "uniform" else "uint"
        kind = cast("ElementType", word if word in ELEMENT_BYTES else "uint")
        whole = all(place % ELEMENT_BYTES[kind] == 0 for place in (buffer.size, *offsets[buffer.name]))
        yield buffer.name, kind if whole else "uchar"


def _buffer(buffer: Buffer, kind: ElementType, data: Path | None) -> tuple[Document, bytes | None]:
    made: Document = {"type": kind, "elements": buffer.size // ELEMENT_BYTES[kind]}
    file = {"contents": {"file": f"{buffer.name}.bin"}}
    match buffer.contents.kind, buffer.contents.parameters:
        case word, _ if word in _GUEST_MADE:
            return made | {"contents": word}, None
        case "uniform", (seed,):
            return made | {"contents": {"uniform": seed}}, None
        case "modulo", (seed, modulus):
            return made | {"contents": {"modulo": modulus, "seed": seed}}, None
        case "constant", (number,) if ELEMENT_BYTES[kind] == 4:
            element = np.array([number], "<u4").view(NUMPY_TYPES[kind])[0].item()
            if math.isfinite(element):
                return made | {"contents": {"constant": element}}, None
    return made | file, _values(buffer, data).tobytes()


def _values(buffer: Buffer, data: Path | None) -> NDArray[np.uint8]:
    try:
        found = np.fromfile(data, np.uint8) if data is not None else None
    except OSError as error:
        raise ConfigError(f"cannot read the data file: {error.strerror}", file=data) from None
    if buffer.contents.kind in FROM_FILE and found is not None:
        offset = buffer.contents.parameters[0]
        if offset + buffer.size > found.size:
            raise ConfigError(
                f"the data file has {found.size} bytes, {buffer.name} needs {buffer.size} from {offset} on",
                file=data,
                remedy="export it again, whole",
            )
    return buffer.contents.values(buffer.size, found)


def _launch(dispatch: Dispatch, kernel: Kernel, types: Mapping[str, ElementType]) -> Document:
    block = packed(dispatch.arguments)
    sizes = zip(dispatch.grid, dispatch.workgroup, strict=True)
    dimensions = max((axis for axis, pair in enumerate(sizes, 1) if max(pair) > 1), default=1)
    made: Document = {
        "kernel": dispatch.kernel,
        "grid": list(dispatch.grid[:dimensions]),
        "workgroup": list(dispatch.workgroup[:dimensions]),
        "arguments": [_argument(kernel, each, block, dispatch.lds, types) for each in kernel.given],
    }
    pointers = any(each.kind == LDS_POINTER for each in kernel.given)
    offset = [_hidden(f"hidden_global_offset_{axis}", kernel, block) for axis in "xyz"]
    if any(offset):
        made["offset"] = offset[:dimensions]
    return made | ({"lds": dispatch.lds} if dispatch.lds and not pointers else {})


def _pointer(each: Pointer, objects: Mapping[Path, str]) -> Document:
    into = {"buffer": each.into} if isinstance(each.into, str) else {"source": objects[each.into]}
    offset = {"offset": each.offset} if each.offset else {}
    return {**into, "place": each.place, "to": each.to, **offset}


def _hidden(kind: str, kernel: Kernel, block: Block) -> int:
    """A hidden argument that the list gives; 0: it leaves it out."""
    found = (each for each in kernel.parameters if each.kind == kind)
    return sum(int.from_bytes(block.data[each.offset : each.offset + each.size], "little") for each in found)


def _argument(
    kernel: Kernel, parameter: Parameter, block: Block, lds: int, types: Mapping[str, ElementType]
) -> Any:
    shown = f"argument {parameter.name or kernel.given.index(parameter) + 1} of {kernel.name}"
    place, end = parameter.offset, parameter.offset + parameter.size
    if end > len(block.data):
        raise ConfigError(
            f"{shown} lies at byte {place}, the list gives {len(block.data)} bytes of arguments",
            remedy="export every argument of the kernel",
        )
    raw = block.data[place:end]
    within = [at for at in block.addresses if at < end and at + 8 > place]
    if parameter.kind == LDS_POINTER:
        return {"lds": _lds_bytes(kernel, parameter, block, lds)}
    if parameter.kind == "global_buffer":
        if not within and not any(raw):
            return 0
        if place not in within:
            raise ConfigError(
                f"{shown} is an address, the list gives the number {int.from_bytes(raw, 'little'):#x}",
                remedy="name a buffer; addresses of the other program, and null, mean nothing here",
            )
        name, offset = block.addresses[place]
        return {"buffer": name, "offset": offset // ELEMENT_BYTES[types[name]]} if offset else name
    if within:
        if any(at % 8 or at < place or at + 8 > end or block.addresses[at][1] for at in within):
            raise ConfigError(
                f"{shown} is a value of {parameter.size} bytes with an address inside a buffer in it",
                remedy="a workload gives such addresses as arguments of their own only",
            )
        return {"bytes": raw.hex(), "addresses": {str(at - place): block.addresses[at][0] for at in within}}
    return _value(parameter, raw)


def _value(parameter: Parameter, raw: bytes) -> Any:
    code = {"half": "<e", "float": "<f", "double": "<d"}.get(parameter.type_name)
    if code and len(raw) == struct.calcsize(code):
        (real,) = struct.unpack(code, raw)
        return {parameter.type_name: real} if math.isfinite(real) else {"bytes": raw.hex()}
    if len(raw) in (1, 2, 4, 8):
        signed = parameter.type_name in ("char", "short", "int", "long")
        return int.from_bytes(raw, "little", signed=signed)
    return {"bytes": raw.hex()}


def _lds_bytes(kernel: Kernel, parameter: Parameter, block: Block, lds: int) -> int:
    """What an argument that points to LDS has for itself: up to the next one, or to the end."""
    pointers = [each for each in kernel.given if each.kind == LDS_POINTER]
    starts = [
        int.from_bytes(block.data[each.offset : each.offset + each.size], "little") for each in pointers
    ]
    ends = [*starts[1:], kernel.lds_bytes + lds]
    number = pointers.index(parameter)
    size = ends[number] - starts[number]
    if size < 1 or starts[number] < kernel.lds_bytes:
        raise ConfigError(
            f"{kernel.name} gets addresses {starts} in {kernel.lds_bytes + lds} bytes of LDS, of which the "
            f"first {kernel.lds_bytes} are its own",
            remedy="give its arguments LDS one after the other, and their bytes with the dispatch",
        )
    return size
