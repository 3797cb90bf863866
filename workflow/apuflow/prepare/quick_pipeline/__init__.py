"""Faster replacements of gem5 functions with the same statistics, line by line.

gem5 checks every wavefront slot of every compute unit in each cycle, which takes most of its time. The C++
sources in ``sources`` do so only after a change. They are compiled into gem5 (``EXTRAS`` of its SConstruct),
and the linker redirects calls to them (``--wrap``); gem5's files stay. They rely on details of gem5's
functions, so they are built only into compared versions.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Collection
from functools import cache
from pathlib import Path

import yaml

from apuflow.configure.gem5_build import Build
from apuflow.core.errors import ConfigError
from apuflow.core.files import atomic_write, sha256_file
from apuflow.prepare.recipes import directory_sha256

COMPARED = Path(__file__).with_name("compared.yaml")
SOURCES = Path(__file__).with_name("sources")
_REPLACED = re.compile(r"^WRAP\([\w:]+,\s+(_Z\w+),", re.MULTILINE)


def replaced() -> tuple[str, ...]:
    """Mangled names of the replaced functions."""
    return tuple(
        sorted(name for path in SOURCES.glob("*.cc") for name in _REPLACED.findall(path.read_text()))
    )


@cache
def digest() -> str:
    """SHA-256 of the sources, part of gem5's identity."""
    return directory_sha256(SOURCES)


def compared() -> dict[str, dict[str, str]]:
    """By file of gem5, the SHA-256 of each compared text, and the versions with it."""
    found: dict[str, dict[str, str]] = yaml.safe_load(COMPARED.read_text())
    return found


def main() -> None:
    """The command line of ``add``."""
    import typer  # a job that runs a point has no use for it

    try:
        typer.run(add)
    except ConfigError as error:
        raise SystemExit(f"apuflow: {error}") from None


def add(gem5: Path, name: str) -> None:
    """Add the files of a checkout of GEM5 under a known NAME. Raises ConfigError if it lacks one.

    Runs with and without the quick pipeline must have written the same statistics (docs/development.md).
    """
    table = compared()
    for file, texts in table.items():
        if not (gem5 / file).is_file():
            remedy = "name a checkout of gem5, v21.2 or later"
            raise ConfigError("gem5's sources lack a file", file=gem5 / file, remedy=remedy)
        digest_of_file = sha256_file(gem5 / file)
        known = texts.get(digest_of_file)
        texts[digest_of_file] = name if known is None else f"{known}, {name}"
    head = [line for line in COMPARED.read_text().splitlines(keepends=True) if line.startswith("#")]
    with atomic_write(COMPARED) as part:
        part.write_text("".join(head) + yaml.safe_dump(table, sort_keys=False, width=1000))


def decided(build: Build, gem5: Path) -> Build:
    """The build, with or without the quick pipeline.

    Raises ConfigError if it is requested, but the sources ``gem5`` were not compared.
    """
    if build.quick_pipeline is False or build.lto:
        return build.model_copy(update={"quick_pipeline": False})
    other = next((name for name, texts in compared().items() if not _is_known(gem5 / name, texts)), None)
    if build.quick_pipeline and other is not None:
        raise ConfigError(
            "the quick pipeline was not compared with this version of gem5's file",
            file=gem5 / other,
            key="gem5.build.quick_pipeline",
            value=True,
            remedy="build without it: quick_pipeline: false. It was compared with "
            + "; ".join(compared()[other].values()),
        )
    return build.model_copy(update={"quick_pipeline": other is None})


def _is_known(file: Path, texts: Collection[str]) -> bool:
    return file.is_file() and sha256_file(file) in texts


def place(tree: Path, linker_flags: str) -> tuple[str, ...]:
    """Copy the sources to the directory of gem5's build, and return scons' arguments for them.

    ``linker_flags`` is this release's variable for flags of the linker.
    """
    directory = tree / "quick_pipeline"
    shutil.rmtree(directory, ignore_errors=True)
    shutil.copytree(SOURCES, directory)
    wrapped = " ".join(f"-Wl,--wrap={name}" for name in replaced())
    return f"EXTRAS={directory}", f"{linker_flags}={wrapped}"
