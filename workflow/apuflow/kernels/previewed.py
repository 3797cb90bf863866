"""A preview of kernels from what the interpreter saw of them: no kernel is known beforehand."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from apuflow.core import paths
from apuflow.core.engines import PREVIEW_VERSION
from apuflow.core.errors import ConfigError, NotModelled
from apuflow.core.files import write_text
from apuflow.core.gpus import gpu
from apuflow.core.matrix import COUNTED, matrix_cycles
from apuflow.interpret.arithmetic import distinct
from apuflow.interpret.run import LIMIT
from apuflow.interpret.state import LANES
from apuflow.interpret.trace import LINE, Accesses, Traced
from apuflow.interpret.waits import WaitsForOthers, waiting
from apuflow.kernels.launches import compiled_otherwise
from apuflow.kernels.metadata import find_kernel, read_kernels
from apuflow.kernels.program import OwnProgram
from apuflow.kernels.sampled import Sampled
from apuflow.kernels.sources import kept_object, own_object
from apuflow.kernels.traced import traced_program
from apuflow.launcher.matrix_code import matrices
from apuflow.miopen.compiler import digest
from apuflow.miopen.launch import Arg, Launch
from apuflow.preview.instructions import Counts
from apuflow.preview.kernels.totals import ACCESSED, TOTALS, profile_of
from apuflow.preview.lines import PAGE
from apuflow.preview.profile import MatrixWork, Profile, Stream

Array = NDArray[np.int64]
Chosen = NDArray[np.bool_]
LINES_OF_PAGE = PAGE // LINE
_KEPT = "6"
"""Version of what is kept of a profile."""


def as_launches(program: OwnProgram) -> tuple[Launch, ...]:
    """The launches of a program as the preview lists them."""
    sizes = {buffer.name: buffer for buffer in program.buffers}
    return tuple(
        Launch(
            layer=each.kernel,
            layer_kind="Kernels",
            direction="fwd",
            program=str(each.code.source),
            arguments=each.code.arguments,
            kernel=each.kernel,
            grid=each.grid,
            workgroup=each.workgroup,
            args=tuple(
                Arg("buffer", str(given.value), sizes[str(given.value)].size // 4, "", str(given.value))
                for given in each.arguments
                if given.kind == "buffer"
            ),
        )
        for each in program.launches
    )


def profiles_of(
    program: OwnProgram,
    identity: str,
    gfx: str,
    root: Path = Path(),
    limit: int = LIMIT,
    total: int | None = None,
) -> tuple[Profile, ...]:
    """What each launch of a program does: compiled and executed once, then kept below ``build``.

    Args:
        identity: everything that decides what it computes.
        limit: wavefront instructions of a launch; total: of all of them.

    Raises:
        TooLong: it executes more.
        NotModelled: a kernel waits for other workgroups.
        EngineError: it cannot be compiled, or the interpreter cannot execute it.
        ConfigError: its contents cannot be made, or a workgroup is not what its kernel is compiled for.
    """
    kept = kept_profiles(program, identity, gfx, root)
    if not kept.exists():
        found = [traced_profile(each, gfx) for each in _traced(program, gfx, root, limit, total)]
        write_text(kept, json.dumps([profile._asdict() for profile in found]))
    return tuple(map(_profile, json.loads(kept.read_text(encoding="utf-8"))))


def kept_profiles(program: OwnProgram, identity: str, gfx: str, root: Path) -> Path:
    """Where the profiles of a program are kept; raises as :func:`profiles_of`."""
    objects = [own_object(str(code.source), code.arguments, "", gfx, root) for code in program.codes]
    parts = identity, PREVIEW_VERSION, _KEPT, *(f"{each.gfx} {each.name}" for each in objects)
    return root / paths.launch_profiles(digest(*parts))


def _traced(
    program: OwnProgram, gfx: str, root: Path, limit: int, total: int | None
) -> Sequence[Traced | Sampled]:
    program = replace(program, outputs=())
    codes = {code: kept_object(str(code.source), code.arguments, gfx, root) for code in program.codes}
    kernels = {code: read_kernels(path) for code, path in codes.items()}
    for launch in dict.fromkeys(program.launches):
        kernel = find_kernel(kernels[launch.code], launch.kernel, launch.code.source)
        if wrong := list(compiled_otherwise(kernel, launch, gpu(gfx).isa)):
            raise ConfigError(
                f"{launch.kernel} of {program.name} cannot run: {'; '.join(wrong)}",
                file=paths.workload_file(program.name),
                key="launches",
                remedy="change the launch or the kernel",
            )
    try:
        return traced_program(program, kernels, codes, gfx, limit=limit, total=total)
    except WaitsForOthers as error:
        raise NotModelled(
            f"{waiting(error.kernel, error.loop)}: its number of instructions depends on time, which the "
            "preview cannot tell",
            file=paths.workload_file(program.name),
            remedy="run it on engine gem5-kernels alone",
        ) from None


def _profile(parts: Mapping[str, Any]) -> Profile:
    streams = tuple(Stream(*stream) for stream in parts["streams"])
    built = {"counts": Counts(*parts["counts"]), "streams": streams, "matrix": MatrixWork(*parts["matrix"])}
    return Profile(**{**parts, **built})


def matrix_work(ran: Mapping[str, int], gfx: str) -> MatrixWork:
    """What matrix instructions do that ran so often each; those whose cycles are not known take none."""
    found = dict.fromkeys(MatrixWork._fields, 0.0)
    for name, times in ran.items():
        shape = matrices(name)
        if shape is None:
            continue
        found["cycles"] += times * (matrix_cycles(gfx, shape) or 0)
        if kind := COUNTED.get(shape.kind):
            found[f"lanes_{kind}"] += times * LANES
            found["ops_i8" if kind == "i8" else f"flops_{kind}"] += times * shape.operations
    return MatrixWork(**found)


def traced_profile(traced: Traced | Sampled, gfx: str = "") -> Profile:
    """What a launch does, as the timing model takes it; ``gfx``: the GPU whose matrix cores it uses."""
    parts = traced.parts if isinstance(traced, Sampled) else ((traced, 1.0),)
    some, ran = parts[0][0], Counter[str]()
    for part, weight in parts:
        ran.update({name: round(times * weight) for name, times in part.matrices.items()})
    found = profile_of(
        sampled_totals(traced) if isinstance(traced, Sampled) else totals_of(traced),
        round(sum(part.workgroups * weight for part, weight in parts)),
        max(1, round(sum(part.wavefronts * weight for part, weight in parts))),
        some.waves_per_group,
        lds_bytes=some.lds_bytes,
        vgprs=some.registers,
        matrix=matrix_work(ran, gfx),
    )
    pages, again, between = _pages_of_loads(parts)
    return found._replace(load_pages=pages, pages_again=again, pages_between=between)


def _pages_of_loads(parts: Sequence[tuple[Traced, float]]) -> tuple[float, float, float]:
    """``load_pages``, ``pages_again`` and ``pages_between`` of a profile."""
    loads = touched = again = between = 0.0
    for part, weight in parts:
        seen = part.accesses
        page = seen.line // LINES_OF_PAGE
        new = seen.loads & (seen.first | (np.diff(page, prepend=-1) != 0))
        if not new.any():
            continue
        group, turn, page = seen.group[new], seen.turn[new], page[new]
        often = weight * (len(page) - _pairs(group, page))
        loads += weight * part.instructions["load"]
        touched += weight * len(page)
        again += often
        between += often * _between(group, turn, page)
    return max(1.0, touched / loads) if loads else 1.0, again, between / again if again else 0.0


def sampled_totals(found: Sampled) -> dict[str, float]:
    """Totals of a launch of which some workgroups ran."""
    totals = dict.fromkeys(TOTALS, 0.0)
    groups = sum(part.workgroups * weight for part, weight in found.parts)
    for part, weight in found.parts:
        last = part.workgroups * weight / groups
        for name, value in totals_of(part).items():
            totals[name] += value * (last if name == "stores_last" else weight)
    for kind in ("load", "store"):
        totals[f"{kind}_lines"] = float(found.touched.lines[kind])
        totals[f"{kind}_pages"] = float(found.touched.pages[kind])
    return {**totals, "code_bytes": float(found.code_bytes)}


def totals_of(traced: Traced) -> dict[str, float]:
    """Totals of a launch (``preview.kernels.totals.TOTALS``)."""
    n, seen = traced.instructions, traced.accesses
    found = {
        "valu": n["valu"] + n["matrix"],
        "salu": n["salu"],
        "smem": n["scalar_memory"],
        "branches": n["branch"],
        "waits": n["wait"],
        "barriers": n["barrier"],
        "nops": n["nop"],
        "ends": n["end"],
        "loads": n["load"],
        "stores": n["store"] + n["atomic"],
        "lds_reads": n["lds"],
        "lanes": traced.lanes,
        "flops": traced.flops,
        **_accessed("load", seen, seen.loads),
        **_accessed("store", seen, ~seen.loads),
        "load_waits": traced.load_waits,
        "store_waits": traced.store_waits,
        "scalar_waits": traced.scalar_waits,
        "bank_turns": traced.bank_turns,
        "line_atomics": _most_on_a_line(seen.line[seen.atomics]),
        "code_bytes": traced.code_bytes,
        "stores_last": _stores_last(seen),
    }
    return {name: float(value) for name, value in found.items()}


def _accessed(kind: str, seen: Accesses, chosen: Chosen) -> dict[str, float]:
    """``ACCESSED`` of all loads, or of all stores."""
    group, line = seen.group[chosen], seen.line[chosen]
    if not len(line):
        return {f"{kind}_{name}": 0.0 for name in ACCESSED}
    values = (
        len(line),
        len(distinct(line)),
        len(distinct(line // LINES_OF_PAGE)),
        _pairs(group, line),
        _pairs(group, line // LINES_OF_PAGE),
        _between(group, seen.turn[chosen], line) * len(line),
    )
    return {f"{kind}_{name}": float(value) for name, value in zip(ACCESSED, values, strict=True)}


def _most_on_a_line(lines: Array) -> float:
    return float(np.unique(lines, return_counts=True)[1].max(initial=0))


def _pairs(group: Array, place: Array) -> int:
    """Different pairs."""
    return len(distinct(group << 40 | place - place.min()))


def _between(group: Array, turn: Array, line: Array) -> float:
    """Lines that a workgroup touches between two uses of a line, on average."""
    order = np.lexsort((turn, group))
    group, line = group[order], line[order]
    by_line = np.lexsort((np.arange(len(line)), line, group))
    same = (np.diff(group[by_line]) == 0) & (np.diff(line[by_line]) == 0)
    if not same.any():
        return 1.0
    again = by_line[1:][same]
    new = np.ones(len(line))
    new[again] = 0.0
    own = np.bincount(group, weights=new)
    return float(np.minimum(again - by_line[:-1][same], own[group[again]]).mean())


def _stores_last(seen: Accesses) -> bool:
    """Whether most workgroups load all before they store."""
    if seen.loads.all() or not seen.loads.any():
        return True
    ran, group = np.unique(seen.group, return_inverse=True)
    groups = len(ran)
    last, first = np.zeros(groups, np.int64), np.full(groups, np.iinfo(np.int64).max)
    np.maximum.at(last, group[seen.loads], seen.turn[seen.loads])
    np.minimum.at(first, group[~seen.loads], seen.turn[~seen.loads])
    return bool(np.mean(last < first) > 0.5)
