"""A workflow whose files Snakemake keeps in storage, because its jobs share no file system.

Snakemake then gives each rule local copies of its files, below a directory of its own and under the paths
that they have in the project. Our code reads and writes the project. So a job's inputs are put into the
project, and what it makes goes from there to the copies that Snakemake stores.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from apuflow.core import paths
from apuflow.core.engines import SIMULATING
from apuflow.core.errors import ConfigError
from apuflow.prepare.doctor import Use
from apuflow.prepare.tools import Toolset
from apuflow.run.packing import unpack

_RUN = re.compile(paths.matcher(paths.run_record(), engine="|".join(SIMULATING)).pattern + "$")


class Storage:
    """Snakemake's default storage provider."""

    def __init__(self, workflow: Any, root: Path) -> None:
        prefix = workflow.storage_settings.default_storage_prefix or ""
        self._prefix = f"{prefix.rstrip('/')}/" if prefix else ""
        self._provider = workflow.storage_registry.default_storage_provider
        self._workflow = workflow
        self._root = root

    def ship(self) -> None:
        """Let Snakemake ship the user's configuration to jobs, with the Snakefile and what git tracks."""
        files = [*self._root.glob(f"{paths.CONFIGS}/**/*"), self._root / paths.image_lock()]
        files.append(self._root / paths.supplied_record())
        self._workflow.configfiles.extend(file for file in files if file.is_file())

    def _object(self, path: str) -> Any:
        return self._provider.object(self._prefix + path)

    def project(self, stored: str) -> str:
        """The file of the project that is stored under a name; any other name as it is."""
        return stored.removeprefix(self._prefix)

    def holds(self, path: str) -> bool:
        """Whether a file of the project is in storage."""
        return bool(self._object(path).exists())

    def store(self, path: str) -> None:
        """Store a file of the project."""
        self._here(path).store_object()

    def fetch(self, path: str) -> bool:
        """Put a file from storage into the project; whether there is one."""
        if not self.holds(path):
            return False
        (self._root / path).parent.mkdir(parents=True, exist_ok=True)
        self._here(path).retrieve_object()
        return True

    def fetch_missing(self, files: Iterable[str]) -> None:
        """Fetch those files that are not in the project."""
        for path in files:
            if not (self._root / path).exists():
                self.fetch(path)

    def bring_runs(self, files: Iterable[str]) -> None:
        """Put what is stored of runs into the project, except those whose record is there.

        Args:
            files: records, or Snakemake's copies of them; other files are no runs.
        """
        for run in filter(None, map(_RUN.search, files)):
            record, bundle = run[0], paths.run_bundle(*run.groups())
            if not (self._root / record).exists():
                if self.fetch(bundle):
                    unpack(self._root / bundle)
                self.fetch_missing([paths.log("simulate", *run.groups()), record])

    def _here(self, path: str) -> Any:
        stored = self._object(path)
        stored.set_local_path(self._root / path)
        return stored


def refuse_tools_made_here(tools: Toolset, use: Use) -> None:
    """Refuse a site that names no tools: storage carries what rules make, and no builds."""
    named = {"gem5.binary": tools.site.gem5.binary}
    if use is Use.DNNMARK:
        named["dnnmark.build"] = tools.site.dnnmark.build
    for key, value in named.items():
        if value is None:
            raise ConfigError(
                "jobs that share no file system with this machine cannot use what is built here",
                file="configs/site.yaml",
                key=key,
                remedy="name one that is in the jobs' image, and start the workflow in that image",
            )


@contextlib.contextmanager
def in_the_project(snakemake: Any) -> Iterator[None]:
    """Around a rule's script: put its inputs into the project, and its outputs from there to their copies.

    Without storage Snakemake's paths are those of the project, and nothing is done.

    Args:
        snakemake: the script's object; ``input`` and ``output`` become paths of the project.
    """
    copies = os.path.commonpath([snakemake.output[0], snakemake.log[0]])  # logs/ has no output of a rule
    if not copies:
        yield
        return

    def project(file: str) -> str:
        return file.removeprefix(f"{copies}/")

    for file in snakemake.input:
        if file != project(file):
            _link(Path(file), Path(project(file)))
    made = list(snakemake.output)
    snakemake.input = type(snakemake.input)(toclone=snakemake.input, custom_map=project)
    snakemake.output = type(snakemake.output)(toclone=snakemake.output, custom_map=project)
    for file in snakemake.output:
        Path(file).parent.mkdir(parents=True, exist_ok=True)
    yield
    for file in made:
        _link(Path(project(file)), Path(file))


def _link(source: Path, target: Path) -> None:
    """Give a file a second name, in place of what has that name; on another file system, copy it."""
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    part.unlink(missing_ok=True)
    try:
        os.link(source, part)
    except OSError:
        shutil.copy2(source, part)
    part.replace(target)
    part.unlink(missing_ok=True)  # two names of one file: replacing one by the other does nothing
