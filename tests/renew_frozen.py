"""Write ``tests/data/frozen`` anew, after a change that is meant. Prints what changed.

``points.txt`` holds digests. The points that differ are named from a list of its last commit's points.

Usage: python tests/renew_frozen.py
"""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from conftest import copy_project
from frozen_facts import FACTS, FROZEN, changes
from frozen_points import listed
from places import ROOT


def main() -> None:
    FROZEN.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as directory:
        project = copy_project(Path(directory))
        for name, facts in FACTS.items():
            file, text = FROZEN / name, facts(project)
            found = changes(file.read_text(encoding="utf-8"), text) if file.exists() else ["written"]
            if name == "points.txt" and found:
                found = changed_points(Path(directory)) or found
            print(f"{name}: {'nothing changed' if not found else ''}", *found, sep="\n  " if found else "")
            file.write_text(text, encoding="utf-8")


def changed_points(directory: Path) -> list[str]:
    """The points that differ from those of the commit that wrote ``points.txt``."""
    before = directory / "before"
    commit = _git("log", "-1", "--format=%H", "--", str(FROZEN / "points.txt")).decode().strip()
    with tarfile.open(fileobj=io.BytesIO(_git("archive", "--format=tar", commit))) as archive:
        archive.extractall(before, filter="data")
    done = subprocess.run(
        [sys.executable, "tests/frozen_points.py"],
        cwd=before,
        env=os.environ
        | {"PYTHONPATH": os.pathsep.join(map(str, (before / "workflow", before / "analysis")))},
        capture_output=True,
        text=True,
    )
    if done.returncode != 0:
        return [f"the points of commit {commit} cannot be listed: {done.stderr.strip()}"]
    (directory / "now").mkdir()
    after = listed(copy_project(directory / "now"))
    return changes(done.stdout, "".join(f"{line}\n" for line in after))


def _git(*arguments: str) -> bytes:
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True).stdout


if __name__ == "__main__":
    main()
