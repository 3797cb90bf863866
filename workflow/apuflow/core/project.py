"""The files that come with apuflow, in a checkout or inside the installed package.

A wheel carries them in ``apuflow/project_files`` under their paths in a checkout (``[tool.hatch.build]``).
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from apuflow.core import paths
from apuflow.core.errors import ConfigError

PACKAGE = Path(__file__).resolve().parents[1]
"""The package ``apuflow``."""
VERSIONS = tuple(
    str(PACKAGE / file) for file in ("core/engines.py", "rocblas/changes.py", "configure/products.py")
)
"""Modules with versions and defaults that are part of a point's identity."""
_CARRIED = PACKAGE / "project_files"
_LOGGER = "snakemake_logger_plugin_apuflow"
_ANALYSIS = "apuflow_analysis"
_MODULES = {
    "workflow/apuflow": PACKAGE,
    f"workflow/{_LOGGER}": PACKAGE.parent / _LOGGER,
    f"analysis/{_ANALYSIS}": PACKAGE.parent / _ANALYSIS,
}
_NOT_OURS = {"__pycache__", "node_modules", paths.SNAKEMAKE, _CARRIED.name}
COPIED = ("profiles", "configs", "docker/gcn-gpu-debian", "workflow/schemas")
"""Files of a new project: Snakemake's profiles, configuration, the image's recipe, schemas for editors."""
MEASURED = "configs/conformance/"
"""Of these, the tables that a project does without: they are read where apuflow has them."""

SNAKEFILE = '''\
"""A project of apuflow: the workflow comes with the installed package, experiments are in configs/.

    snakemake --cores all results/quickstart/report.html
"""

from apuflow.core import project


include: project.snakefile()

'''

GITIGNORE = f"""\
{paths.SNAKEMAKE}/
.venv/
/{paths.RESULTS}/
/{paths.RUNS}/
/{paths.CACHE}/
/build/
/logs/
/archives/
/configs/site.yaml
"""


def is_installed() -> bool:
    """Whether this is an installed wheel."""
    return _CARRIED.is_dir()


@cache
def code_version() -> str:
    """Sixteen hex digits that name the code of ``apuflow``: two machines with equal files have equal ones."""
    found = hashlib.sha256()
    for directory, below, names in os.walk(PACKAGE):
        below[:] = sorted(set(below) - _NOT_OURS)
        for name in sorted(names):
            if name.endswith((".py", ".yaml", ".csv", ".json")):
                found.update(Path(directory, name).read_bytes())
    return found.hexdigest()[:16]


def place(name: str) -> Path:
    """Path of a file or directory of the project by its path in a checkout, such as ``configs``."""
    if not is_installed():
        return PACKAGE.parents[1] / name
    return _MODULES.get(name, _CARRIED / name)


def snakefile() -> str:
    """Path of the workflow's Snakefile, to include or to load as a module."""
    return str(place("workflow/Snakefile"))


def recorded_runs() -> Path:
    """Directory of the recorded gem5 runs that come with apuflow."""
    return place("data/gem5_runs")


def files_of(name: str) -> Iterator[tuple[str, Path]]:
    """Files of ``place(name)``, which may be missing, and its packages: path in a checkout, actual path."""
    yield from files_below(name, place(name))
    if is_installed():
        for module, directory in _MODULES.items():
            if module.startswith(f"{name}/"):
                yield from files_below(module, directory)


def files_below(name: str, directory: Path) -> Iterator[tuple[str, Path]]:
    """Files of a directory (or the file itself), below ``name``, without caches, links and secrets."""
    if directory.is_file():
        yield name, directory
        return
    for path in sorted(directory.rglob("*")):
        inside = path.relative_to(directory)
        ours = not set(inside.parts) & _NOT_OURS and path.suffix != ".pyc"
        if ours and path.is_file() and not path.is_symlink():
            yield f"{name}/{inside.as_posix()}", path


def new_project(directory: Path) -> list[str]:
    """Write a project, except for files that exist; returns the written ones, relative to ``directory``.

    Raises:
        ConfigError: ``directory`` is a file, or the checkout that this apuflow runs from.
    """
    if directory.exists() and not directory.is_dir():
        raise ConfigError("not a directory", file=directory, remedy="name a new or an empty directory")
    if not is_installed() and directory.resolve() == place(""):
        raise ConfigError("this is apuflow itself", file=directory, remedy="name another directory")
    sources = {
        path: file.read_bytes()
        for name in COPIED
        for path, file in files_of(name)
        if path != "configs/site.yaml" and not path.startswith(MEASURED)
    }
    sources |= {".gitignore": GITIGNORE.encode()}
    if not (directory / "workflow/Snakefile").exists():  # Snakemake would take ours in its place
        sources["Snakefile"] = SNAKEFILE.encode()
    written = []
    for path, content in sorted(sources.items()):
        target = directory / path
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
            written.append(path)
    return written
