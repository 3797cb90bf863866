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
from apuflow.capture.variables import with_variables
from apuflow.configure.kernel_program import MOST_LAUNCHES
from apuflow.core.errors import ConfigError
from apuflow.core.words import many
from apuflow.interpret.image import load_image
from apuflow.kernels.metadata import Kernel, find_kernel, read_kernels
from apuflow.launcher.dispatch_list import Argument, Buffer, Dispatch, DispatchList, Dump
from apuflow.launcher.dispatch_list import Contents as Fill
from apuflow.workloads.dispatch_list import Source, write_workload

_PAGE: Final = 4096


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
        given, kernels = _list(journal, directory, codes)
        source = Source(command, f"apuflow capture {name}", kernels, True, dict(_texts(journal, codes)))
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
            else "is it one for AMD GPUs, and did it come that far?",
        )
    if len(journal.launches) > MOST_LAUNCHES:
        message = f"more than {MOST_LAUNCHES:,} launches, for which gem5 would write statistics"
        remedy = "record fewer of them: --first, --every, --kernel"
        raise ConfigError(message, value=len(journal.launches), remedy=remedy)


def _list(
    journal: Journal, directory: Path, codes: Mapping[int, Path]
) -> tuple[DispatchList, Mapping[Path, tuple[Kernel, ...]]]:
    """The launches as a dispatch list with its files in a directory, and the kernels of its code objects."""
    kernels = {path: tuple(map(described, read_kernels(path))) for path in dict.fromkeys(codes.values())}
    named = dict(_names(journal, codes, kernels))
    buffers, places = [], {}
    with (directory / "data.bin").open("wb") as data:
        for key, contents in _memory(journal).items():
            raw = _whole(contents.before)
            fill = Fill("touch")
            if contents.set:
                fill = Fill("file", (data.tell(),))
                data.write(raw.tobytes().ljust(-(-len(raw) // _PAGE) * _PAGE, b"\0"))
            buffers.append(Buffer(named[key], len(raw), fill))
            places[key] = contents
    dumps = []
    for key, contents in places.items():
        if contents.written and contents.after is not None:
            dumps.append(Dump(named[key], directory / f"{named[key]}.after"))
            _whole(contents.after).tofile(dumps[-1].path)
    dispatches = [
        Dispatch(
            codes[id(each.code)],
            each.kernel,
            each.grid,
            each.workgroup,
            _arguments(each, find_kernel(kernels[codes[id(each.code)]], each.kernel, directory), named),
            each.lds,
        )
        for each in journal.launches
    ]
    return DispatchList(
        journal.gfx, tuple(buffers), (*dispatches, *dumps), data=directory / "data.bin"
    ), kernels


def _memory(journal: Journal) -> Mapping[int, Contents]:
    """Everything that launches are given, each once, in the order of first use."""
    return {id(each.contents): each.contents for launch in journal.launches for each in launch.addresses}


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
        loaded = load_image(path).data
        if launch.code.before[: len(loaded)].tobytes() != loaded:
            _check_addresses(journal, launch.code.before, "a variable of the program's code")
            path.write_bytes(with_variables(launch.module.data, launch.code.before))
    return found


def _texts(journal: Journal, codes: Mapping[int, Path]) -> Iterator[tuple[Path, tuple[str, str]]]:
    """Sources that make the same code objects, by their paths."""
    for launch in journal.launches:
        source, path = launch.module.source, codes[id(launch.code)]
        if source is not None and path.read_bytes() == launch.module.data:
            yield path, source


def _names(
    journal: Journal, codes: Mapping[int, Path], kernels: Mapping[Path, tuple[Kernel, ...]]
) -> Iterator[tuple[int, str]]:
    """Names of buffers: of the argument that they are first given as, where the compiler left it."""
    taken: dict[str, int] = {}
    seen: set[int] = set()
    for launch in journal.launches:
        kernel = find_kernel(kernels[codes[id(launch.code)]], launch.kernel, codes[id(launch.code)])
        names = {each.offset: each.name for each in kernel.given}
        for place, contents, _ in launch.addresses:
            if id(contents) in seen:
                continue
            seen.add(id(contents))
            _check_addresses(journal, contents.before, names.get(place) or f"allocation {contents.number}")
            plain = re.sub(r"\W", "_", names.get(place) or f"buffer{contents.number}")[:32]
            taken[plain] = taken.get(plain, 0) + 1
            yield id(contents), plain if taken[plain] == 1 else f"{plain}_{taken[plain]}"


def _check_addresses(journal: Journal, raw: Bytes, what: str) -> None:
    """Raise ConfigError for memory that holds addresses: on gem5 buffers lie elsewhere."""
    words = raw[: len(raw) // 8 * 8].view(np.uint64)
    for first, end in journal.spans:
        inside = np.flatnonzero((words >= first) & (words < end))
        if not inside.size:
            continue
        raise ConfigError(
            f"{what} holds addresses of the GPU's memory, the first at byte {8 * int(inside[0])}",
            remedy="a workload gives addresses as arguments only: use indices in the place of pointers",
        )


def _arguments(launch: Launched, kernel: Kernel, named: Mapping[int, str]) -> tuple[Argument, ...]:
    """The argument block, byte by byte but for the addresses."""
    addresses = {each.place: each for each in launch.addresses}
    wanted = kernel.parameters if any(launch.offset) else kernel.given
    kinds = ("hidden_global_offset_x", "hidden_global_offset_y", "hidden_global_offset_z")
    last = (each for each in wanted if not each.hidden or each.kind in kinds)
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
