"""The host machine."""

from __future__ import annotations

import os
import platform
import socket
from pathlib import Path

from apuflow.core.scalar import Scalar


def home() -> Path | None:
    """The user's home; None without HOME and without a passwd entry (a container)."""
    try:
        return Path.home()
    except RuntimeError:
        return None


def host_facts() -> dict[str, Scalar | None]:
    """Facts of the host that explain a run's speed."""
    facts: dict[str, Scalar | None] = {
        "name": socket.gethostname(),
        "system": f"{platform.system()} {platform.release()}",
        "cpus": os.cpu_count(),
    }
    facts["memory_bytes"] = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text(errors="replace").splitlines():
            if line.startswith("model name"):
                facts["cpu"] = line.partition(":")[2].strip()
                break
    return facts
