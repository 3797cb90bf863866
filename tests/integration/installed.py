"""A machine that has apuflow from its wheel alone, and tutorials typed on it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path
from typing import Literal

from places import ROOT

BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)
FILES = ("yaml", "python", "c", "text")
FILE = re.compile(r"`([\w./-]+/[\w-]+\.\w+)`[^`]*\Z", re.S)


def make_environment(directory: Path) -> Path:
    """The Python of an environment without apuflow that finds the libraries of these tests."""
    venv.create(directory, with_pip=False, symlinks=True)
    packages = next((directory / "lib").glob("python*/site-packages"))
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return directory / "bin/python"


def do(command: list[str], directory: Path, *programs: Path) -> str:
    """What a command prints that finds these programs first; it must end well."""
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    environment["PATH"] = os.pathsep.join([*map(str, programs), environment["PATH"]])
    done = subprocess.run(
        command, cwd=directory, capture_output=True, text=True, timeout=3600, env=environment
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout + done.stderr


class Machine:
    """An environment with the wheel in it, and nothing of the checkout."""

    def __init__(self, place: Path) -> None:
        self.bin = place / "env/bin"
        self.package = next((place / "env/lib").glob("python*/site-packages")) / "apuflow"

    @staticmethod
    def install(place: Path) -> None:
        """Build the wheel, and make the environment."""
        wheels, programs = place / "wheels", place / "env/bin"
        pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet")
        build = ("wheel", "--no-deps", "--no-build-isolation", "--no-cache-dir", "--wheel-dir", str(wheels))
        do([*pip, *build, str(ROOT)], place)
        python = make_environment(place / "env")
        install = ("--python", str(python), "install", "--no-deps", "--no-index")
        do([*pip, *install, *map(str, wheels.glob("*.whl"))], place)
        snakemake = programs / "snakemake"
        snakemake.write_text(f'#!/bin/sh\nexec "{python}" -m snakemake "$@"\n')
        snakemake.chmod(0o755)

    def run(self, directory: Path, *command: str) -> str:
        """What a command prints; it must end well."""
        return do([str(self.bin / command[0]), *command[1:]], directory, self.bin)

    def type_in(
        self,
        directory: Path,
        tutorial: str,
        site: str | None = None,
        gem5: Literal["run", "plan", "none"] = "run",
        engine: str | None = None,
    ) -> tuple[Path, str]:
        """Type a tutorial: its shell blocks are run, other blocks written to the file named before them.

        Args:
            directory: where the reader begins.
            tutorial: name of a page of docs/tutorials.
            site: what to write to ``configs/site.yaml`` in place of the tutorial's; nothing if empty.
            engine: runs the sweeps in place of gem5-kernels.
            gem5: ``none`` leaves out ``bash`` blocks, which need one or what it would make; with ``plan``
                Snakemake plans the others.

        Returns:
            The directory where the reader ends, and all that was printed.
        """
        text = (ROOT / "docs/tutorials" / f"{tutorial}.md").read_text(encoding="utf-8")
        printed = ""
        for match in BLOCK.finditer(text):
            kind, block = match.groups()
            if kind in FILES:
                named = FILE.search(text[: match.start()])
                assert named, f"{tutorial}: no file is named before\n{block}"
                if named[1] == "configs/site.yaml" and site is not None:
                    block = site
                if engine is not None:
                    block = block.replace("engines: [gem5-kernels]", f"engines: [{engine}]")
                target = directory / named[1]
                target.parent.mkdir(parents=True, exist_ok=True)
                if block:
                    target.write_text(block)
            elif kind == "sh" or (kind == "bash" and gem5 == "run"):
                if gem5 == "plan":
                    block = re.sub(r"^snakemake ", "snakemake --dry-run ", block, flags=re.M)
                printed += do(["/bin/sh", "-euc", f"{block}\npwd > .here"], directory, self.bin)
                directory = Path(next(iter(self._places(directory))))
        return directory, printed

    @staticmethod
    def _places(directory: Path) -> list[str]:
        notes = [*directory.glob(".here"), *directory.glob("*/.here")]
        texts = [note.read_text().strip() for note in notes]
        for note in notes:
            note.unlink()
        return texts
