"""The host machine."""

from __future__ import annotations

import os
import platform
import re
import socket
from pathlib import Path

from apuflow.core.scalar import Scalar


def home() -> Path | None:
    """The user's home; None without HOME and without a passwd entry (a container)."""
    try:
        return Path.home()
    except RuntimeError:
        return None


def user_cache() -> Path | None:
    """Where programs keep what they can make again (XDG base directory specification); None: no home."""
    given, own = os.environ.get("XDG_CACHE_HOME"), home()
    return Path(given) if given else own / ".cache" if own else None


def host_facts() -> dict[str, Scalar | None]:
    """Facts of the host that explain a run's speed."""
    facts: dict[str, Scalar | None] = {
        "name": socket.gethostname(),
        "system": f"{platform.system()} {platform.release()}",
        "cpus": os.cpu_count(),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
    }
    cpuinfo = Path("/proc/cpuinfo")
    text = cpuinfo.read_text(errors="replace") if cpuinfo.exists() else ""
    if model := re.search(r"^model name[^:]*:(.*)$", text, re.M):
        facts["cpu"] = model[1].strip()
    return facts
