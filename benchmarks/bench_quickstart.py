"""From a fresh clone to tables and report: `make quickstart` against the installation alone.

    python benchmarks/bench_quickstart.py

Prints both wall times and their ratio. Goal: under 3 minutes on 2 idle cores, including installation.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from measuring import ROOT, timed


def main() -> None:
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="apuflow-bench-") as directory:
        clone, bare = Path(directory) / "clone", Path(directory) / "bare"

        def seconds(*command: str | Path) -> float:
            return timed(lambda: subprocess.run(command, cwd=clone, check=True, capture_output=True))

        subprocess.run(["git", "clone", "--quiet", ROOT, clone], check=True)
        subprocess.run([sys.executable, "-m", "venv", bare], check=True)
        install = seconds(bare / "bin/pip", "install", "--quiet", "-r", clone / "requirements.lock")
        whole, again = seconds("make", "quickstart"), seconds("make", "quickstart")
        rows = len(list((clone / "results/quickstart").glob("*.csv")))
    print(f"installing the dependencies alone   {install:7.1f} s")
    print(f"make quickstart, fresh clone        {whole:7.1f} s   {whole / install:5.2f} x   {rows} tables")
    print(f"make quickstart, nothing to do      {again:7.1f} s   {again / install:5.2f} x")


if __name__ == "__main__":
    main()
