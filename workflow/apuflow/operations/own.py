"""Our own OpenCL kernels, for what MIOpen 4.0.1 and rocBLAS have no kernel for."""

from __future__ import annotations

from pathlib import Path
from typing import Final

DIRECTORY: Final = Path(__file__).with_name("kernels")
"""Where their sources stand."""
PROGRAMS: Final = frozenset(path.name for path in DIRECTORY.glob("*.cl"))
NOTE: Final = "apuflow's own kernel: MIOpen of ROCm 4.0.1 has none"
"""How tables label them."""
