"""What benchmarks share: the command line, times, and a project with a sweep."""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]


def parser(text: str | None, **options: float) -> argparse.ArgumentParser:
    """A command line whose help is the module's text, with options and their defaults."""
    made = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in options.items():
        made.add_argument(f"--{name}", type=type(default), default=default, help=f"default: {default}")
    return made


def timed(work: Callable[[], object]) -> float:
    """Seconds that it takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def best(repeat: int, *works: Callable[[], object]) -> list[float]:
    """Seconds of the fastest run of each, in turns, so that load affects all alike."""
    return [
        min(times) for times in zip(*([timed(work) for work in works] for _ in range(repeat)), strict=True)
    ]


@contextmanager
def project(sweep: Mapping[str, Any]) -> Iterator[Path]:
    """A directory with a copy of ``configs`` and this sweep as ``t``."""
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        shutil.copytree(ROOT / "configs", root / "configs")
        (root / "configs/sweeps/t.yaml").write_text(json.dumps({"description": "x", **sweep}))
        yield root
