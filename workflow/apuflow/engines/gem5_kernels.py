"""Engine gem5-kernels: from a point to the kernel objects it needs and the gem5 processes that run it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from apuflow.core.errors import ConfigError
from apuflow.core.gpus import gpu
from apuflow.core.record import LaunchRecord
from apuflow.dnnmark import Direction, parse
from apuflow.engines.gem5 import launch_records
from apuflow.launcher import gemm
from apuflow.launcher.defects import DefectName
from apuflow.launcher.judge import LARGEST, KernelJudge
from apuflow.launcher.plan import guest_run, kernel_source
from apuflow.miopen import Launch, Row, launches
from apuflow.miopen.compiler import Compiler
from apuflow.miopen.objects import KernelObject, kernel_object, sources_identity
from apuflow.run.command import Guest, OptionValue
from apuflow.run.outcome import Expectation
from apuflow.run.process import Process

DATA = "data.bin"


@dataclass(frozen=True)
class KernelRun:
    """What a point of this engine runs.

    Attributes:
        processes: gem5 processes, in order.
        launches: every kernel launch, in order: one block of statistics each.
        inputs: files outside the run directory that the guest reads (to be mounted in a container).
    """

    processes: tuple[Process, ...]
    launches: tuple[LaunchRecord, ...]
    inputs: tuple[Path, ...]


def point_launches(
    config_text: str | None, direction: Direction | None, options: Mapping[str, OptionValue]
) -> tuple[Launch, ...]:
    """The kernel launches of a point: of its resolved ``.dnnmark`` text, at its number of compute units.

    Raises:
        ConfigError: not a DNNMark workload, or one that launches no kernel.
        NotDerivable: a layer that MIOpen refuses.
    """
    if config_text is None or direction is None:
        raise ConfigError(
            "engine gem5-kernels runs the kernels of DNNMark layers, not commands",
            key="engines",
            remedy="use engine gem5 for this workload",
        )
    found = launches(parse(config_text), direction, int(options["num-compute-units"] or 0))
    if not found:
        raise ConfigError(
            "this workload launches no GPU kernel",
            key="workload",
            remedy="leave it out of sweeps with engine gem5-kernels (Dropout does nothing on HIP)",
        )
    return found


def kernel_objects(
    found: Iterable[Launch], gfx: str, compiler: Compiler, kernels: Path, sources: str | None = None
) -> dict[Row, KernelObject]:
    """The code object of every program and argument string that the launches need.

    Args:
        compiler: ``host_compiler(code_object=4)``: gfx801 needs objects that leave xnack open.
        kernels: MIOpen's ``src/kernels``.
        sources: identity of MIOpen's sources, such as their commit; None: of the files themselves.
    """
    objects: dict[Row, KernelObject] = {}
    for launch in found:
        row = kernel_source(launch)
        if row in objects:
            continue
        ours = launch.gemm is not None
        identity = sources_identity(gemm.PROGRAM.parent if ours else kernels, row.program)
        named = Row(row.program, row.arguments, launch.layer)
        objects[row] = kernel_object(
            named, gfx, compiler.identity, identity if ours or sources is None else sources
        )
    return objects


def kernel_run(
    found: tuple[Launch, ...],
    *,
    gfx: str,
    options: Mapping[str, OptionValue],
    launcher: Path,
    objects: Mapping[Row, Path],
    data: Path | None = None,
    defects: tuple[DefectName, ...] = (),
    release_dumps: bool = False,
) -> KernelRun:
    """The gem5 process of a point: all its launches in order, one block of statistics for each.

    The guest has gem5 reset its statistics before and write them after every dispatch, in every release; the
    first block, before them, and the last, at its end, are without kernels. Where the release's own script
    writes a block per kernel, the guest leaves it to that.

    Args:
        objects: compiled code object of every row that :func:`kernel_objects` names.
        data: file of uniform floats to fill inputs from (the project's ``-mmap`` file).
        defects: instructions that this gem5 executes wrongly, for what is said of a wrong result.
        release_dumps: it writes statistics after every kernel.

    Raises:
        ConfigError: a GPU that gem5 does not model, or a data file smaller than an input.
    """
    gpu(gfx)
    names = {row: f"kernel{number}.o" for number, row in enumerate(objects)}
    run = guest_run(
        found,
        device=gfx,
        objects={row: Path(name) for row, name in names.items()},
        data=Path(DATA) if data else None,
        data_bytes=data.stat().st_size if data else 0,
        per_dispatch_statistics=not release_dumps,
    )
    if sum(buffer.size // 4 for buffer in run.contents.buffers) > LARGEST:
        run = run.without_outputs()
    count = len(run.launches)
    links = {names[row]: path for row, path in objects.items()}
    judge = KernelJudge(run, dict(links), data, defects)
    if data is not None:
        links[DATA] = data
    process = Process(
        guest=Guest(
            directory=launcher.absolute().parent,
            program=launcher.name,
            arguments=(str(run.list_file),),
            end_marker=run.end_marker,
            error_texts=("apuflow-launcher: error:",),
        ),
        options=options,
        expectation=Expectation(
            end_marker=run.end_marker,
            error_texts=("apuflow-launcher: error:",),
            blocks=None if release_dumps else count + 2,
            kernels=count,
        ),
        files={str(run.list_file): run.contents.text()},
        links=links,
        judge=judge,
    )
    records = launch_records(found)
    named = tuple(
        record.model_copy(update={"stand_in": launch.note or None})
        for record, launch in zip(records, run.launches, strict=True)
    )
    return KernelRun((process,), named, (launcher, *links.values()))
