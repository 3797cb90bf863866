"""``apuflow new workload --from``: a dispatch list of another program becomes a workload."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import yaml

from apuflow.configure import load_workload
from apuflow.configure.base import together
from apuflow.configure.kernel_workload import KernelsWorkload
from apuflow.configure.loading import check_new_name
from apuflow.core import paths
from apuflow.core.errors import ApuflowError, ConfigError
from apuflow.core.files import write_files
from apuflow.core.gpus import gpu
from apuflow.kernels.guest import own_guest
from apuflow.kernels.imported import document, outputs, packed
from apuflow.kernels.launches import problems
from apuflow.kernels.metadata import KernelsBySource, read_kernels
from apuflow.kernels.program import KernelsByCode, OwnProgram
from apuflow.launcher.dispatch_list import DispatchList
from apuflow.launcher.read_list import read_list
from apuflow.miopen.elf import read_code_object

COMPUTE_UNITS = 4
"""What the launches are tried with; nothing of an imported one depends on it."""


def import_list(path: Path, name: str, root: Path, *, force: bool = False) -> tuple[tuple[Path, ...], str]:
    """Write the workload of a dispatch list: its file, and its code objects and data in a directory beside.

    Nothing is written before the workload has been read back, checked like any other, and found to make the
    same launches, arguments and contents as the list. Returns the files, and the list's GPU.

    Raises ConfigError: the name cannot be used, or the list holds what a workload cannot say.
    """
    target = Path(paths.workload_file(name))
    check_new_name(name, "workload", root / target, force=force)
    given = read_list(path)
    try:
        source = Source(path.name, f"apuflow new workload {name} --from {path.name}")
        return write_workload(given, source, name, root), given.device
    except ApuflowError as error:
        what, key = f"this list cannot be imported: {error.message}", error.key
        raise ConfigError(what, file=path, key=key, value=error.value, remedy=error.remedy) from error


class Source(NamedTuple):
    """Where a list comes from.

    Attributes:
        name: of the list or the program. command: that imports it.
        kernels: of the code objects, where more is known of them than they say.
        compressed: whether one file has the contents of all buffers.
        beside: further files to write, by name.
        texts: by code object: the OpenCL C that it was made of, and arguments for clang.
    """

    name: str
    command: str
    kernels: KernelsBySource | None = None
    compressed: bool = False
    beside: Mapping[str, bytes] = MappingProxyType({})
    texts: Mapping[Path, tuple[str, str]] = MappingProxyType({})


def write_workload(given: DispatchList, source: Source, name: str, root: Path) -> tuple[Path, ...]:
    """Write the workload of a list that is checked first; its files. Raises as :func:`import_list`."""
    target = Path(paths.workload_file(name))
    objects = {
        code: f"{name}/kernels{number or ''}{'.cl' if code in source.texts else '-{gfx}.co'}"
        for number, code in enumerate(dict.fromkeys(each.object for each in given.dispatches))
    }
    files = _files(given, source, target, objects)
    codes = {target.parent / place.format(gfx=given.device): code for code, place in objects.items()}
    _check(given, files, name, codes)
    write_files({root / file: data for file, data in files.items()})
    return tuple(root / file for file in files)


def _files(
    given: DispatchList, source: Source, target: Path, objects: Mapping[Path, str]
) -> dict[Path, bytes]:
    """Everything to write, by its path from the project's directory; ``objects``: names of code objects."""
    name = target.stem
    codes = {code: _code_object(code, given.device) for code in objects}
    codes |= {code: text.encode() for code, (text, _) in source.texts.items()}
    recorded, missing = _recorded(given)
    kernels = source.kernels or {code: read_kernels(code) for code in codes}
    compiled = {code: arguments for code, (_, arguments) in source.texts.items()}
    made, beside = document(
        given, kernels, objects, recorded, compressed=source.compressed, compiled=compiled
    )
    for buffer in made["buffers"].values():
        if isinstance(buffer["contents"], dict) and "file" in buffer["contents"]:
            buffer["contents"] = {"file": f"{name}/{buffer['contents']['file']}"}
    if "reference" in made:
        made["reference"] = f"{name}/{made['reference']}"
    made = {"description": f"Imported from {source.name}", "kind": "kernels", **made}
    text = f"# Imported by {source.command}. Keys: docs/own-kernels.md.\n"
    if missing:
        text += f"# Written by the list, not compared: {', '.join(missing)}. Outputs and reference do that.\n"
    text += yaml.safe_dump(made, sort_keys=False, default_flow_style=None, width=110)
    files = {target: text.encode()}
    place = target.parent
    files |= {place / objects[code].format(gfx=given.device): data for code, data in codes.items()}
    return files | {place / name / file: data for file, data in (beside | dict(source.beside)).items()}


def _code_object(path: Path, gfx: str) -> bytes:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"cannot read code object {path}: {error.strerror}") from None
    found = read_code_object(data, path)
    if found.gfx != gfx:
        raise ConfigError(f"code object {path} is for {found.gfx}, the list for {gfx}")
    return data


def _recorded(given: DispatchList) -> tuple[dict[str, bytes], list[str]]:
    """What the other program left in the files that the list names, by buffer; buffers without a file."""
    found, missing = {}, []
    for dump in outputs(given):
        if not dump.path.is_file():
            missing.append(dump.buffer)
            continue
        found[dump.buffer] = dump.path.read_bytes()
        size = next(buffer.size for buffer in given.buffers if buffer.name == dump.buffer)
        if len(found[dump.buffer]) != size:
            raise ConfigError(
                f"{dump.path} has {len(found[dump.buffer])} bytes, buffer {dump.buffer} has {size}",
                remedy="remove that file, or export it again, whole",
            )
    return found, missing


def _check(given: DispatchList, files: Mapping[Path, bytes], name: str, codes: Mapping[Path, Path]) -> None:
    """Raise ConfigError where the workload, read back, is wrong or would do something else than the list.

    Args:
        codes: the list's code objects, by the workload's file of each.
    """
    with tempfile.TemporaryDirectory(prefix="apuflow-import-") as place:
        root = Path(place)
        write_files({root / file: data for file, data in files.items()})
        workload = load_workload(name, root)
        assert isinstance(workload, KernelsWorkload)
        errors: list[ConfigError] = []
        work = workload.work({}, errors.append)
        if work is None:
            raise together(errors)
        program = work.program(COMPUTE_UNITS, given.device)
        kernels = {code: read_kernels(codes[code.source]) for code in program.codes}
        for wrong in (
            *problems(program, kernels, gpu(given.device).isa),
            *_differences(given, program, kernels),
        ):
            raise ConfigError(wrong)


def _differences(given: DispatchList, program: OwnProgram, kernels: KernelsByCode) -> Iterator[str]:
    """What a workload's program would do otherwise than the list that it was made of."""
    guest = own_guest(program, kernels, gfx=given.device, statistics="run")
    made = np.frombuffer(guest.data or b"", np.uint8)
    data = np.fromfile(given.data, np.uint8) if given.data is not None else made
    for theirs, ours in zip(given.buffers, guest.contents.buffers, strict=True):
        same = theirs.contents == ours.contents
        if ours.contents.kind == "file":
            before = theirs.contents.values(theirs.size, data), ours.contents.values(ours.size, made)
            same = np.array_equal(*before)
        if theirs.size != ours.size or not same:
            yield f"buffer {theirs.name} would hold something else"
    if _pointers(given) != _pointers(guest.contents):
        yield "addresses in memory would be others"
    launches = zip(given.dispatches, guest.contents.dispatches, strict=True)
    for number, (wanted, sent) in enumerate(launches, 1):
        want, have = packed(wanted.arguments), packed(sent.arguments)
        # The list may leave out what a launch determines: the hidden arguments at the end.
        length = min(len(want.data), len(have.data))
        if want.data[:length] != have.data[:length] or any(want.data[length:]):
            yield f"launch {number} of {wanted.kernel} would get other hidden arguments or LDS addresses"
        if want.addresses != have.addresses:
            yield f"launch {number} of {wanted.kernel} gets addresses that its kernel does not take"
        if (wanted.grid, wanted.workgroup, wanted.lds) != (sent.grid, sent.workgroup, sent.lds):
            yield f"launch {number} of {wanted.kernel} has LDS that its arguments do not point to"


def _pointers(given: DispatchList) -> list[tuple[object, int, str, int]]:
    """Addresses in memory, code objects by their number."""
    numbers = {path: number for number, path in enumerate(dict.fromkeys(d.object for d in given.dispatches))}
    return [
        (each.into if isinstance(each.into, str) else numbers[each.into], each.place, each.to, each.offset)
        for each in given.pointers
    ]
