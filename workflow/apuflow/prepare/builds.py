"""gem5 and DNNMark: build them, use existing builds, and check that they are unchanged."""

from __future__ import annotations

import os
import shutil
import subprocess
from functools import partial
from pathlib import Path

from apuflow.configure.gem5_build import Build
from apuflow.containers.job import ContainerEngine
from apuflow.core.errors import EngineError
from apuflow.core.files import remembered_sha256, sha256_file
from apuflow.prepare import quick_pipeline
from apuflow.prepare.records import ToolRecord, run_step
from apuflow.prepare.sources import SourceRecord, use_checkout

_SCRIPT = Path("configs/example/apu_se.py")
_DNNMARK = Path("src/gpu/DNNMark")
_LIBRARY = "libdnnmark.so"


class Gem5Record(ToolRecord):
    """A usable gem5.

    Attributes:
        binary: absolute path of gem5.opt; ``sha256`` is of its bytes.
        script: absolute path of apu_se.py of the same sources.
        target: build target (GCN3_X86, VEGA_X86); None for a binary that the site supplies.
        arguments: of scons besides the target.
        patches: of the sources by their names in the configuration, with the start of the hash.
        quick_pipeline: digest of the functions that replace gem5's.
    """

    binary: str
    sha256: str
    script: str
    source: SourceRecord
    target: str | None
    arguments: tuple[str, ...] = ()
    patches: tuple[str, ...] = ()
    quick_pipeline: str | None = None


def build_gem5(
    source: SourceRecord,
    target: str,
    *,
    jobs: int,
    container: ContainerEngine,
    image: str | None,
    project: Path,
    log: Path,
    build: Build | None = None,
    linker_flags: str = "LINKFLAGS_EXTRA",
    arguments: tuple[str, ...] = (),
    patches: tuple[str, ...] = (),
) -> Gem5Record:
    """Run ``scons build/<target>/gem5.opt`` in the source tree, or another build in its own tree.

    About 90 minutes on two cores; needs 2 GB per job.

    Args:
        build: how it is compiled; None: as upstream does, with the quick pipeline if it fits.
        linker_flags: this release's variable for flags of the linker.
        arguments: more for scons, such as ``--linker=gold``.
        patches: of the sources, for the record.

    Raises:
        ConfigError: these sources cannot be built with the quick pipeline.
        EngineError: the build failed (the message ends with its last lines) or left no program.
    """
    directory = Path(source.path)
    chosen = quick_pipeline.decided(build or Build(), directory)
    tree = f"{chosen.tree}/" if chosen.tree else ""
    (directory / tree).mkdir(parents=True, exist_ok=True)  # SConstruct up to v23.0 creates only the last one
    goal = f"{tree}build/{target}/gem5.{chosen.variant}"
    arguments = _joined(
        *chosen.arguments(linker_flags, str(directory / tree / f"profile-{target}")),
        *(quick_pipeline.place(directory / tree, linker_flags) if chosen.quick_pipeline else ()),
        *arguments,
    )
    run_step(
        container,
        # --ignore-style: otherwise gem5's SConstruct waits for an answer about git hooks.
        ("scons", goal, f"-j{jobs}", "--ignore-style", *arguments),
        what=f"building gem5 {target}",
        cwd=directory,
        image=image,
        project=project,
        log=log,
        # Flags and compilers are read from the environment since v22.0, from the command line before.
        env=dict(word.split("=", 1) for word in arguments if not word.startswith("-")),
    )
    program = directory / goal
    remedy = f"scons ended without an error, and without it: read {log}"
    if not program.is_file() and (first := _compiler_error(log)):
        remedy += f"; what fails in a check of scons is not built again, and this did: {first}"
    quick = quick_pipeline.digest() if chosen.quick_pipeline else None
    made = {"target": target, "arguments": arguments, "patches": patches, "quick_pipeline": quick}
    return existing_gem5(program, source, remedy).model_copy(update=made)


def _compiler_error(log: Path) -> str:
    """The first compiler error in scons' output."""
    with log.open(encoding="utf-8", errors="replace") as lines:
        return next((line.strip() for line in lines if ": error: " in line), "")


def _joined(*arguments: str) -> tuple[str, ...]:
    """Arguments of scons, with the values of a repeated variable joined."""
    found: dict[str, str] = {}
    for word in arguments:
        name, _, value = word.partition("=")
        found[name] = f"{found[name]} {value}" if name.endswith("FLAGS_EXTRA") and name in found else word
    return tuple(found.values())


def existing_gem5(
    binary: Path, source: SourceRecord, remedy: str = "build it, or correct gem5.binary"
) -> Gem5Record:
    """Record a gem5 that the site supplies. Raises EngineError if the program or its script is missing."""
    binary = binary.resolve()
    if not (binary.is_file() and os.access(binary, os.X_OK)):
        raise EngineError("there is no gem5 program", file=binary, remedy=remedy)
    script = (Path(source.path) / _SCRIPT).resolve()
    if not script.is_file():
        remedy = "gem5.source is the checkout that the binary was built from"
        raise EngineError("the gem5 sources have no apu_se.py", file=script, remedy=remedy)
    sha256 = sha256_file(binary)
    return Gem5Record(binary=str(binary), sha256=sha256, script=str(script), source=source, target=None)


def starts(binary: Path, seconds: float = 60.0) -> str | None:
    """Why a gem5 program does not start on this machine, or None.

    A program that still runs after ``seconds`` has found its libraries.
    """
    try:
        result = subprocess.run(
            [str(binary), "--help"], capture_output=True, text=True, timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired:
        return None
    except OSError as error:
        return str(error)
    if result.returncode != 0:
        return (result.stderr.strip().splitlines() or [f"status {result.returncode}"])[-1]
    return None


def allocates_slowly(binary: Path) -> bool:
    """Whether a program would start on this machine with the C library's allocator, by ``ldd``.

    That counts LD_PRELOAD. False for what is not linked dynamically.
    """
    listed = subprocess.run(["ldd", str(binary)], capture_output=True, text=True, check=False).stdout
    return "libc.so" in listed and not any(name in listed for name in ("tcmalloc", "mimalloc", "jemalloc"))


def links(*libraries: str) -> bool:
    """Whether g++ finds one of some libraries when it links."""
    asked = [f"-print-file-name=lib{name}.so" for name in libraries]
    answers = [subprocess.run(["g++", each], capture_output=True, text=True, check=False) for each in asked]
    return any(Path(answer.stdout.strip()).is_absolute() for answer in answers)


def unchanged_gem5(record: Gem5Record, file: Path) -> Gem5Record:
    """Check gem5 and return its record, whose ``file`` has a note beside it that avoids hashing again.

    Raises EngineError if program or scripts of a gem5 built here have changed. A site's gem5 may change,
    because its hash is part of the points' identity; the record then has the new hash.
    """
    actual = _hash(Path(record.binary), file.with_name(f".{file.name}.seen"))
    if actual != record.sha256:
        if record.target is None:
            return record.model_copy(update={"sha256": actual})
        raise EngineError(
            "this gem5 is not the recorded program",
            file=record.binary,
            value=f"sha256 {actual[:12]}..., recorded {record.sha256[:12]}...",
            remedy=f"remove it and {file}, and start the workflow again: it is built again",
        )
    source = record.source
    if source.commit is not None and shutil.which("git") is not None:
        now = use_checkout(Path(source.path), commit=source.commit, allow_dirty=source.dirty)
        if now.changes_sha256 != source.changes_sha256:
            message = "gem5's sources have other changes than when they were recorded"
            remedy = f"undo them, or remove {file.parent} and start the workflow again"
            raise EngineError(message, file=source.path, remedy=remedy)
    return record


class DnnmarkRecord(ToolRecord):
    """A DNNMark build. Its programs carry the library's absolute path: the directory must stay where it is.

    Attributes:
        build: make's directory.
        programs: SHA-256 by benchmark (``test_fwd_softmax``); the library's under ``libdnnmark.so``.
    """

    build: str
    source: SourceRecord | None
    programs: dict[str, str]


def build_dnnmark(
    source: SourceRecord,
    *,
    jobs: int,
    container: ContainerEngine,
    image: str | None,
    project: Path,
    log: Path,
) -> DnnmarkRecord:
    """``./setup.sh HIP`` and ``make`` in DNNMark's directory, as its README says. Minutes.

    Raises EngineError if a step failed (the message ends with its last lines), or programs are missing.
    """
    directory = Path(source.path) / _DNNMARK
    if not (directory / "setup.sh").is_file():
        raise EngineError("no DNNMark here", file=directory, remedy="the source is a gem5-resources checkout")
    step = partial(run_step, container, cwd=directory, image=image, project=project, log=log)
    step(("./setup.sh", "HIP"), what="configuring DNNMark")
    if not (directory / "build" / "Makefile").is_file():
        # setup.sh ends with status 0 even if cmake failed.
        remedy = "the log says why cmake failed"
        raise EngineError("DNNMark's setup.sh left no Makefile", file=log, remedy=remedy)
    step(("make", "-C", "build", f"-j{jobs}"), what="building DNNMark")
    return existing_dnnmark(directory / "build", source)


def existing_dnnmark(build: Path, source: SourceRecord | None = None) -> DnnmarkRecord:
    """Record a finished build. Raises EngineError if its library or programs are missing."""
    build = build.resolve()
    library = build / _LIBRARY
    programs = {
        program.parent.name: program
        for program in sorted(build.glob("benchmarks/*/dnnmark_*"))
        if program.name == f"dnnmark_{program.parent.name}" and program.is_file()
    }
    if not library.is_file() or not programs:
        raise EngineError(
            "not a finished DNNMark build: a file is missing",
            file=library if not library.is_file() else build / "benchmarks/test_*/dnnmark_test_*",
            remedy="name the directory that make ran in, or let the workflow build it",
        )
    hashes = {name: sha256_file(program) for name, program in {_LIBRARY: library, **programs}.items()}
    return DnnmarkRecord(build=str(build), source=source, programs=hashes)


def check_dnnmark(record: DnnmarkRecord, benchmark: str, file: Path) -> None:
    """Raise EngineError if a benchmark or DNNMark's library has changed; ``file`` is the record's."""
    places = {_LIBRARY: _LIBRARY, benchmark: f"benchmarks/{benchmark}/dnnmark_{benchmark}"}
    for name, place in places.items():
        program = Path(record.build) / place
        if name in record.programs and _hash(program) != record.programs[name]:
            raise EngineError(
                "this DNNMark program is not the one that was recorded",
                file=program,
                remedy=f"remove {file} (and the program, if the workflow shall build it), then start the "
                "workflow again",
            )


def _hash(path: Path, seen: Path | None = None) -> str:
    try:
        return sha256_file(path) if seen is None else remembered_sha256(path, seen)
    except OSError as error:
        message = f"a recorded program cannot be read: {error.strerror}"
        remedy = "put it back, or remove its record below build/toolchain: it is made again"
        raise EngineError(message, file=path, remedy=remedy) from None
