"""Sources of rocBLAS and Tensile, where the environment names them."""

from __future__ import annotations

import os
from pathlib import Path

import needs


def checkouts() -> tuple[Path, Path]:
    """Tensile and rocBLAS; the test is skipped by name without them."""
    named = [os.environ.get(f"APUFLOW_TEST_{name}") for name in ("TENSILE", "ROCBLAS")]
    if not all(named):
        needs.ROCBLAS.skip()
    return Path(str(named[0])), Path(str(named[1]))
