"""From a fresh clone to tables and report: `make quickstart` against the installation alone.

    python benchmarks/bench_quickstart.py

Prints both wall times and their ratio. Goal: under 3 minutes on 2 idle cores, including installation.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def timed(command: list[str], cwd: Path) -> float:
    start = time.perf_counter()
    subprocess.run(command, cwd=cwd, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - start


def main() -> None:
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="apuflow-bench-") as directory:
        clone, bare = Path(directory) / "clone", Path(directory) / "bare"
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
        subprocess.run([sys.executable, "-m", "venv", str(bare)], check=True)
        install = timed(
            [str(bare / "bin/pip"), "install", "--quiet", "-r", str(clone / "requirements.lock")], clone
        )
        whole = timed(["make", "quickstart"], clone)
        again = timed(["make", "quickstart"], clone)
        rows = len(list((clone / "results/quickstart").glob("*.csv")))
    print(f"installing the dependencies alone   {install:7.1f} s")
    print(f"make quickstart, fresh clone        {whole:7.1f} s   {whole / install:5.2f} x   {rows} tables")
    print(f"make quickstart, nothing to do      {again:7.1f} s   {again / install:5.2f} x")


if __name__ == "__main__":
    main()
