"""Where a Docker or Podman daemon listens."""

from __future__ import annotations

import os
from pathlib import Path

from apuflow.core.host import home


def candidate_urls(engine: str, socket: str | None = None) -> list[str]:
    """Possible addresses of a daemon of this kind; only ``socket`` if given."""
    if socket is not None:
        return [socket if "://" in socket else f"unix://{socket}"]
    runtime = os.environ.get("XDG_RUNTIME_DIR", f"/run/user/{os.getuid()}")
    if engine == "podman":
        explicit = os.environ.get("CONTAINER_HOST") or os.environ.get("DOCKER_HOST")
        paths = [f"{runtime}/podman/podman.sock", "/run/podman/podman.sock"]
    else:
        explicit = os.environ.get("DOCKER_HOST")
        paths = ["/var/run/docker.sock", f"{runtime}/docker.sock"]
        if (place := home()) is not None:
            paths.append(f"{place}/.docker/run/docker.sock")
    return [explicit] if explicit else [f"unix://{path}" for path in paths]


def socket_problem(url: str) -> str | None:
    """Why an address cannot be used: ``absent`` or ``permission``; None: it can be tried."""
    if not url.startswith("unix://"):
        return None
    path = Path(url.removeprefix("unix://"))
    try:
        if not path.exists():
            return "absent"
    except PermissionError:
        return "permission"
    return None if os.access(path, os.R_OK | os.W_OK) else "permission"
