"""Git repositories of the stand-ins, and how their runs shall go wrong."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from apuflow.core.errors import EngineError
from apuflow.miopen.compiler import Compiler, host_compiler

HERE = Path(__file__).parent
DATA = HERE.parent / "data"
CLANG = HERE / "clang"
SIZES = (1, 2, 4, 16, 64)
_IDENTITY = {
    "GIT_AUTHOR_NAME": "stand-in",
    "GIT_AUTHOR_EMAIL": "stand-in@localhost",
    "GIT_AUTHOR_DATE": "2026-01-01T00:00:00Z",
}


@dataclass(frozen=True)
class Repository:
    """A stand-in repository: where it is and its only commit (always the same for the same content)."""

    path: Path
    commit: str


def make_gem5(directory: Path) -> Repository:
    """A repository that builds and runs as gem5's does."""
    shutil.copytree(HERE / "gem5", directory)
    (directory / "statistics").mkdir()
    for size in SIZES:
        source = DATA / f"gem5_runs/stats/softmax_fwd-100x1000x1x1-u{size}.txt.xz"
        shutil.copyfile(source, directory / "statistics" / f"{size}.txt.xz")
    (directory / "options.txt").write_text("\n".join(apu_se_options()))
    (directory / ".gitignore").write_text("build/\n.apuflow-home/\n")
    return Repository(directory, commit(directory))


def apu_se_options() -> list[str]:
    """Options of a real v23.0.1.0 apu_se.py: those in the usage text that it printed, and -m."""
    usage = (DATA / "gem5_outcomes/bad_option/simerr").read_text().partition("apu_se.py: error:")[0]
    long = set(re.findall(r"--[A-Za-z0-9][\w-]*", usage))
    short = {f"--{name.lower().replace('_', '-')}" for name in re.findall(r"\[-\w ([A-Z_]+)\]", usage)}
    return sorted(long | short | {"--abs-max-tick"})


def make_resources(directory: Path) -> Repository:
    """A repository that builds as gem5-resources' DNNMark does."""
    shutil.copytree(HERE / "resources", directory)
    (directory / ".gitignore").write_text("build/\n.apuflow-home/\n")
    return Repository(directory, commit(directory))


def commit(directory: Path) -> str:
    """Commit everything in a directory; returns the commit."""
    for command in (("init", "-q", "-b", "stable"), ("add", "-A"), ("commit", "-q", "-m", "stand-in")):
        git(directory, *command)
    return head(directory)


def head(directory: Path) -> str:
    """The commit that is checked out."""
    return git(directory, "rev-parse", "HEAD")


def git(directory: Path, *arguments: str) -> str:
    clean = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    committer = {key.replace("AUTHOR", "COMMITTER"): value for key, value in _IDENTITY.items()}
    result = subprocess.run(
        ["git", "-C", str(directory), *arguments],
        env={**clean, **_IDENTITY, **committer, "GIT_CONFIG_GLOBAL": os.devnull},
        capture_output=True,
        text=True,
        check=True,
    )
    return result.stdout.strip()


def behave(binary: Path, behaviours: Mapping[str, str]) -> None:
    """From now on, runs whose command line holds a text behave as said; others end well."""
    table = binary.parent / "behaviour"
    part = table.with_suffix(".part")  # runs that are held read it all the time
    part.write_text("".join(f"{text}\t{what}\n" for text, what in behaviours.items()))
    part.replace(table)


def clang() -> Compiler:
    """This machine's clang with an AMDGPU target; where it has none, the stand-in."""
    try:
        return host_compiler()
    except EngineError:
        return host_compiler(str(CLANG / "clang-15"), CLANG / "bitcode")


def environment() -> dict[str, str]:
    """This process's environment with the stand-ins of gem5's build tools, and clang's where it is needed."""
    compiler = Path(clang().command[0])
    programs = [HERE / "bin", *([CLANG] if compiler.parent == CLANG else [])]
    found = {**os.environ, "PATH": ":".join([*map(str, programs), os.environ["PATH"]])}
    return {**found, "HIP_DEVICE_LIB_PATH": str(CLANG / "bitcode")} if CLANG in programs else found
