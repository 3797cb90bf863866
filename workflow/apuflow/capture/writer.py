"""A journal as a workload of kind ``kernels``: code objects, launches, memory before and after them."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import numpy as np

from apuflow.capture.journal import Bytes, Contents, Journal, Launched
from apuflow.capture.names import described
from apuflow.capture.snapshots import addresses_in
from apuflow.capture.variables import with_variables
from apuflow.configure.kernel_program import MOST_LAUNCHES
from apuflow.core.errors import ConfigError
from apuflow.core.words import many
from apuflow.kernels.metadata import Kernel, find_kernel, read_kernels
from apuflow.launcher.dispatch_list import Argument, Buffer, Dispatch, DispatchList, Dump, Pointer
from apuflow.launcher.dispatch_list import Contents as Fill
from apuflow.workloads.dispatch_list import Source, write_workload

_PAGE: Final = 4096
WEIGHTS: Final = "launch,kernel,launch_of_program,weight,launches,instructions,represented"
"""Columns of the weights: number of the launch in the workload and in the program; how often it counts;
launches that it stands for; its wavefront instructions, and those of all that it stands for."""


def write(journal: Journal, name: str, root: Path, command: str) -> tuple[Path, ...]:
    """Write the workload of what a program did; its files.

    Args:
        command: that ran it, for the file's first line.

    Raises:
        ConfigError: nothing was launched, or the launches hold what a workload cannot say.
    """
    _check(journal)
    with tempfile.TemporaryDirectory(prefix="apuflow-capture-") as place:
        directory = Path(place)
        codes = _code_objects(journal, directory)
        given, kernels, weights = _list(journal, directory, codes)
        some = any(each.launches > 1 for each in journal.launches)
        beside = {"weights.csv": weights.encode()} if some else {}
        source = Source(
            command, f"apuflow capture {name}", kernels, True, beside, dict(_texts(journal, codes))
        )
        return write_workload(given, source, name, root)


def _check(journal: Journal) -> None:
    if journal.refused:
        raise ConfigError(
            f"the GPU does not take {many(len(journal.refused), 'launch', 'launches')}: {journal.refused[0]}",
            remedy="correct the program's grid, or choose another GPU with --gfx",
        )
    if not journal.launches:
        raise ConfigError(
            f"the program has {many(journal.count, 'launch', 'launches')}, of which none is recorded"
            if journal.count
            else "the program has launched no kernel",
            remedy="correct --kernel"
            if journal.count
            else "give it arguments with which it comes that far; it has to link libamdhip64.so",
        )
    if len(journal.launches) > MOST_LAUNCHES:
        message = f"more than {MOST_LAUNCHES:,} launches, for which gem5 would write statistics"
        remedy = "record fewer of them: --first, --every, --kernel"
        raise ConfigError(message, value=len(journal.launches), remedy=remedy)


def _list(
    journal: Journal, directory: Path, codes: Mapping[int, Path]
) -> tuple[DispatchList, Mapping[Path, tuple[Kernel, ...]], str]:
    """The launches as a dispatch list with its files in a directory, its kernels, its launches' weights."""
    memory = _memory(journal)
    kernels = {path: tuple(map(described, read_kernels(path))) for path in codes.values()}
    named = _names(journal, codes, kernels, memory)
    buffers, dumps = [], []
    with (directory / "data.bin").open("wb") as data:
        for key, contents in memory.items():
            raw = _without_addresses(contents)
            fill = Fill("file", (data.tell(),)) if raw.any() else Fill("touch")
            if raw.any():
                data.write(raw.tobytes().ljust(-(-len(raw) // _PAGE) * _PAGE, b"\0"))
            buffers.append(Buffer(named[key], len(raw), fill))
            after = contents.after
            if after is not None and contents.written and not addresses_in(after, *journal.addresses).size:
                dumps.append(Dump(named[key], directory / f"{named[key]}.after"))
                _whole(after).tofile(dumps[-1].path)
    steps: list[Dispatch | Dump] = []
    weights = [WEIGHTS]
    for each in journal.launches:
        path = codes[id(each.code)]
        arguments = _arguments(each, find_kernel(kernels[path], each.kernel, path), named)
        sizes = each.grid, each.workgroup
        steps.append(Dispatch(path, each.kernel, *sizes, arguments, each.lds, each.weight))
        numbers = each.weight, each.launches, each.instructions, each.represented
        weights.append(f"{len(steps)},{each.kernel},{each.number},{','.join(map(str, numbers))}")
    places: dict[int, str | Path] = {**{key: named[key] for key in memory}, **codes}
    contents_of = {**{id(launch.code): launch.code for launch in journal.launches}, **memory}
    pointers = tuple(
        Pointer(places[key], place, named[id(to)], offset)
        for key, contents in contents_of.items()
        for place, to, offset in contents.pointers
    )
    data_file = directory / "data.bin"
    made = DispatchList(journal.gfx, tuple(buffers), (*steps, *dumps), data=data_file, pointers=pointers)
    return made, kernels, "\n".join([*weights, ""])


def _memory(journal: Journal) -> Mapping[int, Contents]:
    """Everything that launches can reach, each once, in the order of first use."""
    found: dict[int, Contents] = {}
    for launch in journal.launches:
        found |= _reached(launch)
    return found


def _reached(launch: Launched) -> Mapping[int, Contents]:
    """What a launch is given, and what addresses in that point into."""
    found: dict[int, Contents] = {}
    waiting = [each.contents for each in (*reversed(launch.code.pointers), *reversed(launch.addresses))]
    while waiting:
        contents = waiting.pop()
        if id(contents) not in found:
            found[id(contents)] = contents
            waiting += [each.contents for each in contents.pointers]
    return found


def _without_addresses(contents: Contents) -> Bytes:
    """What memory held before, 0 where an address of memory stands; as long as buffers are."""
    raw = _whole(contents.before)
    for pointer in contents.pointers:
        raw[pointer.place : pointer.place + 8] = 0
    return raw


def _whole(raw: Bytes) -> Bytes:
    """Bytes up to a multiple of 4, as buffers are."""
    return np.pad(raw, (0, -len(raw) % 4))


def _code_objects(journal: Journal, directory: Path) -> Mapping[int, Path]:
    """Files of the code objects, by the contents that launches name."""
    found: dict[int, Path] = {}
    for launch in journal.launches:
        if id(launch.code) in found:
            continue
        path = found[id(launch.code)] = directory / f"kernels{len(found)}.co"
        path.write_bytes(launch.module.data)
        if not np.array_equal(launch.code.before, launch.module.initial):
            image = _without_addresses(launch.code)
            path.write_bytes(with_variables(launch.module.data, image, launch.module.initial))
    return found


def _texts(journal: Journal, codes: Mapping[int, Path]) -> Iterator[tuple[Path, tuple[str, str]]]:
    """Sources that make the same code objects, by their paths."""
    for launch in journal.launches:
        source, path = launch.module.source, codes[id(launch.code)]
        if source is not None and path.read_bytes() == launch.module.data:
            yield path, source


def _names(
    journal: Journal,
    codes: Mapping[int, Path],
    kernels: Mapping[Path, tuple[Kernel, ...]],
    memory: Mapping[int, Contents],
) -> Mapping[int, str]:
    """Names of buffers: of the argument that they are first given as, where the compiler left it."""
    wanted: dict[int, str] = {}
    for launch in journal.launches:
        path = codes[id(launch.code)]
        names = {each.offset: each.name for each in find_kernel(kernels[path], launch.kernel, path).given}
        for place, contents, _ in launch.addresses:
            wanted.setdefault(id(contents), names.get(place, ""))
    taken: dict[str, int] = {}
    found = {}
    for key, contents in memory.items():
        plain = re.sub(r"\W", "_", wanted.get(key) or f"buffer{contents.number}")[:32]
        taken[plain] = taken.get(plain, 0) + 1
        found[key] = plain if taken[plain] == 1 else f"{plain}_{taken[plain]}"
    return found


def _arguments(launch: Launched, kernel: Kernel, named: Mapping[int, str]) -> tuple[Argument, ...]:
    """The argument block, byte by byte but for the addresses."""
    addresses = {each.place: each for each in launch.addresses}
    wanted = kernel.parameters if any(launch.offset) else kernel.given
    last = (each for each in wanted if not each.hidden or each.kind.startswith("hidden_global_offset_"))
    end = max((each.offset + each.size for each in last), default=0)
    found, place = list[Argument](), 0
    while place < end:
        if place in addresses:
            each = addresses[place]
            found.append(Argument("buffer", named[id(each.contents)], each.offset))
            place += 8
        else:
            found.append(Argument("uchar", launch.block[place]))
            place += 1
    return tuple(found)
