"""Functions in the place of gem5's own: the same statistics, line by line, for less of the host's time.

gem5 looks at every wavefront's slot of every compute unit in each cycle, and most of its time goes there. The
C++ sources in ``sources`` do so only after something has changed. They are compiled into gem5 (``EXTRAS`` of
its SConstruct) and the linker sends calls there (``--wrap``); no file of gem5 is changed. They rely on what
gem5's own functions do, so they are built only into a gem5 that they were compared with.
"""

from __future__ import annotations

import re
import shutil
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
    """Mangled names of the functions of gem5 that are replaced."""
    return tuple(
        sorted(name for path in SOURCES.glob("*.cc") for name in _REPLACED.findall(path.read_text()))
    )


@cache
def digest() -> str:
    """SHA-256 of the sources: another version of them is another gem5."""
    return directory_sha256(SOURCES)


def compared() -> dict[str, dict[str, str]]:
    """By file of gem5: the SHA-256 of each text that was compared, and the versions that have it."""
    found: dict[str, dict[str, str]] = yaml.safe_load(COMPARED.read_text())
    return found


def add(gem5: Path, name: str) -> None:
    """Write down a gem5 that the sources were compared with.

    Raises:
        ConfigError: it lacks a file.
    """
    table = compared()
    for file, texts in table.items():
        if not (gem5 / file).is_file():
            raise ConfigError(
                "gem5's sources lack a file",
                file=gem5 / file,
                remedy="name a checkout of gem5, v21.2 or later",
            )
        digest_of_file = sha256_file(gem5 / file)
        known = texts.get(digest_of_file)
        texts[digest_of_file] = name if known is None else f"{known}, {name}"
    head = [line for line in COMPARED.read_text().splitlines(keepends=True) if line.startswith("#")]
    with atomic_write(COMPARED) as part:
        part.write_text("".join(head) + yaml.safe_dump(table, sort_keys=False, width=1000))


def decided(build: Build, gem5: Path) -> Build:
    """The build, with or without the quick pipeline.

    Args:
        gem5: the sources.

    Raises:
        ConfigError: it is asked for, and the sources are others than those that were compared.
    """
    if build.quick_pipeline is False or build.lto:
        return build.model_copy(update={"quick_pipeline": False})
    other = _not_compared(gem5)
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


def _not_compared(gem5: Path) -> str | None:
    """A file that is another than those that were compared; None: all are known."""
    for name, texts in compared().items():
        path = gem5 / name
        if not path.is_file() or sha256_file(path) not in texts:
            return name
    return None


def place(tree: Path, linker_flags: str) -> tuple[str, ...]:
    """Copy the sources to where gem5 is built, and give what scons is told of them.

    Args:
        tree: directory of the build.
        linker_flags: this release's variable for flags of the linker.
    """
    directory = tree / "quick_pipeline"
    shutil.rmtree(directory, ignore_errors=True)
    shutil.copytree(SOURCES, directory)
    wrapped = " ".join(f"-Wl,--wrap={name}" for name in replaced())
    return f"EXTRAS={directory}", f"{linker_flags}={wrapped}"
