"""Build DNNMark of gem5-resources, or use an existing build."""

from __future__ import annotations

from pathlib import Path

from apuflow.containers import ContainerEngine, Limits
from apuflow.core.errors import EngineError
from apuflow.core.files import sha256_file
from apuflow.prepare.records import ToolRecord, run_step
from apuflow.prepare.sources import SourceRecord

SUBDIRECTORY = Path("src/gpu/DNNMark")


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
    subdirectory: Path = SUBDIRECTORY,
    limits: Limits | None = None,
) -> DnnmarkRecord:
    """``./setup.sh HIP`` and ``make`` in DNNMark's directory, as its README says. Minutes.

    Raises:
        EngineError: a step failed (the message ends with its last lines), or programs are missing.
    """
    directory = Path(source.path) / subdirectory
    if not (directory / "setup.sh").is_file():
        raise EngineError("no DNNMark here", file=directory, remedy="the source is a gem5-resources checkout")

    def step(command: tuple[str, ...], what: str) -> None:
        run_step(
            container,
            command,
            what=what,
            cwd=directory,
            image=image,
            project=project,
            log=log,
            limits=limits,
        )

    step(("./setup.sh", "HIP"), "configuring DNNMark")
    if not (directory / "build" / "Makefile").is_file():
        # setup.sh ends with status 0 even if cmake failed.
        raise EngineError(
            "DNNMark's setup.sh left no Makefile", file=log, remedy="the log says why cmake failed"
        )
    step(("make", "-C", "build", f"-j{jobs}"), "building DNNMark")
    return existing_dnnmark(directory / "build", source)


def existing_dnnmark(build: Path, source: SourceRecord | None = None) -> DnnmarkRecord:
    """Record a finished build. Raises EngineError if its library or programs are missing."""
    build = build.resolve()
    library = build / "libdnnmark.so"
    programs = {
        program.parent.name: program
        for program in sorted(build.glob("benchmarks/*/dnnmark_*"))
        if program.name == f"dnnmark_{program.parent.name}" and program.is_file()
    }
    if not library.is_file() or not programs:
        missing = library if not library.is_file() else build / "benchmarks/test_*/dnnmark_test_*"
        raise EngineError(
            "not a finished DNNMark build: a file is missing",
            file=missing,
            remedy="name the directory that make ran in, or let the workflow build it",
        )
    hashes = {name: sha256_file(program) for name, program in programs.items()}
    return DnnmarkRecord(
        build=str(build), source=source, programs={"libdnnmark.so": sha256_file(library), **hashes}
    )
