"""Build gem5 with scons, or use an existing gem5."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from apuflow.configure.gem5_build import Build
from apuflow.containers import ContainerEngine, Limits
from apuflow.core.errors import EngineError
from apuflow.core.files import sha256_file
from apuflow.prepare import quick_pipeline
from apuflow.prepare.records import ToolRecord, run_step
from apuflow.prepare.sources import SourceRecord

SCRIPT = Path("configs/example/apu_se.py")


class Gem5Record(ToolRecord):
    """A usable gem5.

    Attributes:
        binary: absolute path of gem5.opt; ``sha256`` is of its bytes.
        script: absolute path of apu_se.py of the same sources.
        source: checkout of binary and script.
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
    limits: Limits | None = None,
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
    # --ignore-style: otherwise gem5's SConstruct waits for an answer about git hooks.
    command = ("scons", goal, f"-j{jobs}", "--ignore-style", *arguments)
    # Flags and compilers are read from the environment since v22.0, from the command line before.
    variables = dict(word.split("=", 1) for word in arguments if not word.startswith("-"))
    run_step(
        container,
        command,
        what=f"building gem5 {target}",
        cwd=directory,
        image=image,
        project=project,
        log=log,
        env=variables,
        limits=limits,
    )
    program = directory / goal
    quick = quick_pipeline.digest() if chosen.quick_pipeline else None
    remedy = f"scons ended without an error, and without it: read {log}"
    if not program.is_file() and (first := _compiler_error(log)):
        remedy += f"; what fails in a check of scons is not built again, and this did: {first}"
    return _record(program, source, target, arguments, patches, quick, remedy)


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


def existing_gem5(binary: Path, source: SourceRecord) -> Gem5Record:
    """Record a gem5 that the site supplies.

    Raises:
        EngineError: the program or its script is missing.
    """
    return _record(binary, source, None)


def _record(
    binary: Path,
    source: SourceRecord,
    target: str | None,
    arguments: tuple[str, ...] = (),
    patches: tuple[str, ...] = (),
    quick: str | None = None,
    remedy: str = "build it, or correct gem5.binary",
) -> Gem5Record:
    binary = binary.resolve()
    if not (binary.is_file() and os.access(binary, os.X_OK)):
        raise EngineError("there is no gem5 program", file=binary, remedy=remedy)
    script = (Path(source.path) / SCRIPT).resolve()
    if not script.is_file():
        raise EngineError(
            "the gem5 sources have no apu_se.py",
            file=script,
            remedy="gem5.source is the checkout that the binary was built from",
        )
    return Gem5Record(
        binary=str(binary),
        sha256=sha256_file(binary),
        script=str(script),
        source=source,
        target=target,
        arguments=arguments,
        patches=patches,
        quick_pipeline=quick,
    )


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
