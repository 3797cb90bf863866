"""Write ``tests/data/frozen`` anew, after a change that is meant. Prints what changed.

Usage: python tests/renew_frozen.py
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from conftest import copy_project
from frozen_facts import FACTS, FROZEN, changes


def main() -> None:
    FROZEN.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as directory:
        project = copy_project(Path(directory))
        for name, facts in FACTS.items():
            file, text = FROZEN / name, facts(project)
            found = changes(file.read_text(encoding="utf-8"), text) if file.exists() else ["written"]
            print(f"{name}: {'nothing changed' if not found else ''}", *found, sep="\n  " if found else "")
            file.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
