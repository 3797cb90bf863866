"""Find and reach a Docker or Podman daemon, or explain why not."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass

import docker.errors
import requests.exceptions

import docker
from apuflow.containers.sockets import candidate_urls, socket_problem
from apuflow.core.errors import EngineError


@dataclass(frozen=True)
class Daemon:
    """Facts of a daemon: its owner and its map of uids."""

    podman: bool
    rootless: bool
    bridge: bool
    init: bool
    version: str


def connect(engine: str, socket: str | None = None, timeout: int = 60) -> docker.DockerClient:
    """A client of the first daemon that answers.

    Raises:
        EngineError: none answers; the message distinguishes a missing socket, a refused permission and a
        stopped daemon, with the fix.
    """
    problems: list[tuple[str, str]] = []
    for url in candidate_urls(engine, socket):
        problem = socket_problem(url)
        if problem is None:
            try:
                client = docker.DockerClient(base_url=url, timeout=timeout)
                client.ping()
                return client
            except (docker.errors.DockerException, requests.exceptions.RequestException) as error:
                problem = (
                    "permission" if "ermission denied" in str(error) else f"does not answer: {_short(error)}"
                )
        problems.append((url, problem))
    raise _unreachable(engine, problems)


def _unreachable(engine: str, problems: list[tuple[str, str]]) -> EngineError:
    worst = next((item for item in problems if item[1] != "absent"), problems[0])
    url, problem = worst
    if problem == "absent":
        what = f"no {engine.capitalize()} engine on this machine: nothing listens at {url.removeprefix('unix://')}"
        start = (
            "systemctl --user start podman.socket" if engine == "podman" else "sudo systemctl start docker"
        )
        fix = (
            f"install {engine} and start it (`{start}`), or set `container: apptainer` (or host) "
            "in configs/site.yaml; `apuflow doctor` shows what this machine has"
        )
    elif problem == "permission":
        what = f"no permission to use {engine.capitalize()} at {url.removeprefix('unix://')}"
        fix = (
            "`sudo usermod -aG docker $USER` and log in again, or use podman or apptainer without rights"
            if engine == "docker"
            else "start your own: `systemctl --user start podman.socket`"
        )
    else:
        what = f"{engine.capitalize()} at {url} {problem}"
        fix = "start it (`sudo systemctl start docker`) or correct DOCKER_HOST; `apuflow doctor` checks again"
    return EngineError(what, key="engine", value=engine, remedy=fix)


def describe(client: docker.DockerClient) -> Daemon:
    """Ask the daemon for its facts."""
    with engine_errors("ask the container engine about itself"):
        info, version = client.info(), client.version()
    components = [str(part.get("Name", "")) for part in version.get("Components") or []]
    security = [str(option) for option in info.get("SecurityOptions") or []]
    networks: list[str] = []
    with contextlib.suppress(docker.errors.DockerException, requests.exceptions.RequestException):
        networks = [str(network.name) for network in client.networks.list()]
    return Daemon(
        podman=any("podman" in name.lower() for name in components),
        rootless=any("rootless" in option for option in security),
        bridge="bridge" in networks or "podman" in networks,
        init=bool(info.get("InitBinary")),
        version=str(version.get("Version", "")),
    )


def has_image(client: docker.DockerClient, reference: str) -> bool:
    """Whether the engine has an image, by name or by ``repository@digest``."""
    with contextlib.suppress(docker.errors.ImageNotFound):
        client.api.inspect_image(reference)  # type: ignore[no-untyped-call]
        return True
    return False


@contextlib.contextmanager
def engine_errors(doing: str) -> Iterator[None]:
    """Turn the SDK's exceptions into an :class:`EngineError` that names the action."""
    try:
        yield
    except docker.errors.ImageNotFound as error:
        raise EngineError(
            f"cannot {doing}: the engine has no such image",
            value=_short(error),
            remedy="correct the image name, or let the workflow make it (image mode build, pull or debian)",
        ) from error
    except (docker.errors.DockerException, requests.exceptions.RequestException) as error:
        raise EngineError(
            f"cannot {doing}: {_short(error)}",
            remedy="`apuflow doctor` checks the container engine; the engine's own log says more",
        ) from error


def _short(error: BaseException) -> str:
    explanation = getattr(error, "explanation", None)
    return (
        str(explanation or error).strip().splitlines()[0][:300]
        if str(explanation or error).strip()
        else repr(error)
    )
