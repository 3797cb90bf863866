"""Docker through its SDK; Podman through the same API on its own socket."""

from __future__ import annotations

import contextlib
import math
import os
import re
import resource
import secrets
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import docker.errors
import docker.types
import requests.exceptions

import docker
from apuflow.containers.job import Exit, Job, Mount, Sample, StopWatch, intervals, needs_image
from apuflow.containers.sockets import candidate_urls, socket_problem
from apuflow.core.errors import EngineError
from apuflow.core.owner import PROJECT, is_leftover
from apuflow.core.proc import kernel_oom_kills, killed_for_memory

_RESTART_SECONDS = 60.0
"""A restarted engine ends running containers within this time, unless it keeps them alive."""
_ENDED_BY_ENGINE = (137, 143, 255)
"""SIGKILL, SIGTERM, and Docker's code for a container that ended while the daemon was down."""
_MOST_OF_A_LIMIT = 1 << 13
_UNREACHABLE = (requests.exceptions.RequestException, docker.errors.DockerException)


@dataclass(frozen=True)
class Daemon:
    """Facts of a daemon: its owner, its map of uids, whether it has a bridge and an init program."""

    podman: bool
    rootless: bool
    bridge: bool
    init: bool


def connect(engine: str, socket: str | None = None, timeout: int = 60) -> docker.DockerClient:
    """A client of the first daemon that answers.

    Raises EngineError if none does; the message tells a missing socket, a refused permission and a stopped
    daemon apart, with the fix.
    """
    problems: list[tuple[str, str]] = []
    for url in candidate_urls(engine, socket):
        problem = socket_problem(url)
        if problem is None:
            try:
                client = docker.DockerClient(base_url=url, timeout=timeout)
                client.ping()
                return client
            except _UNREACHABLE as error:
                refused = "ermission denied" in str(error)
                problem = "permission" if refused else f"does not answer: {_short(error)}"
        problems.append((url, problem))
    raise _unreachable(engine, problems)


def _unreachable(engine: str, problems: list[tuple[str, str]]) -> EngineError:
    url, problem = next((item for item in problems if item[1] != "absent"), problems[0])
    title, place, podman = engine.capitalize(), url.removeprefix("unix://"), engine == "podman"
    if problem == "absent":
        what = f"no {title} engine on this machine: nothing listens at {place}"
        start = "systemctl --user start podman.socket" if podman else "sudo systemctl start docker"
        fix = (
            f"install {engine} and start it (`{start}`), or set `container: apptainer` (or host) "
            "in configs/site.yaml; `apuflow doctor` shows what this machine has"
        )
    elif problem == "permission":
        what = f"no permission to use {title} at {place}"
        fix = "`sudo usermod -aG docker $USER` and log in again, or use podman or apptainer without rights"
        if podman:
            fix = "start your own: `systemctl --user start podman.socket`"
    else:
        what = f"{title} at {url} {problem}"
        fix = "start it (`sudo systemctl start docker`) or correct DOCKER_HOST; `apuflow doctor` checks again"
    return EngineError(what, key="engine", value=engine, remedy=fix)


def _describe(client: docker.DockerClient) -> Daemon:
    with engine_errors("ask the container engine about itself"):
        info, components = client.info(), client.version().get("Components") or []
    security = [str(option) for option in info.get("SecurityOptions") or []]
    networks: list[str] = []
    with contextlib.suppress(*_UNREACHABLE):
        networks = [str(network.name) for network in client.networks.list()]
    return Daemon(
        podman=any("podman" in str(part.get("Name", "")).lower() for part in components),
        rootless=any("rootless" in option for option in security),
        bridge="bridge" in networks or "podman" in networks,
        init=bool(info.get("InitBinary")),
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
        message = f"cannot {doing}: the engine has no such image"
        remedy = "correct the image name, or let the workflow make it (image mode build, pull or debian)"
        raise EngineError(message, value=_short(error), remedy=remedy) from error
    except _UNREACHABLE as error:
        raise EngineError(
            f"cannot {doing}: {_short(error)}",
            remedy="`apuflow doctor` checks the container engine; the engine's own log says more",
        ) from error


def _short(error: BaseException) -> str:
    text = str(getattr(error, "explanation", None) or error).strip()
    return text.splitlines()[0][:300] if text else repr(error)


class DockerEngine:
    """Runs jobs as containers without privileges, as the caller, seeing only their mounts."""

    away_seconds = 300.0
    """Time without an answer after which a job counts as lost.

    An upgrade that keeps containers alive takes minutes; a run may take days.
    """

    def __init__(self, name: str = "docker", socket: str | None = None, answer_seconds: int = 60) -> None:
        self.name = name
        self.address = socket
        self._answer_seconds = answer_seconds

    @cached_property
    def client(self) -> docker.DockerClient:
        """The connection, made at first use. Raises EngineError if there is no engine."""
        return connect(self.name, self.address, timeout=self._answer_seconds)

    @cached_property
    def daemon(self) -> Daemon:
        """The daemon, contacted once."""
        return _describe(self.client)

    def check(self) -> None:
        """Check that the daemon answers."""
        _ = self.daemon

    def run(self, job: Job) -> Exit:
        """Create, start, follow and remove one container."""
        job.home.mkdir(parents=True, exist_ok=True)
        job.log.parent.mkdir(parents=True, exist_ok=True)
        api = self.client.api
        kills_before = kernel_oom_kills()
        with StopWatch(job.limits) as watch, job.log.open("ab", buffering=0) as log:
            with engine_errors(f"create a container from {job.image}"):
                created: dict[str, Any] = api.create_container_from_config(  # type: ignore[no-untyped-call]
                    self.configuration(job), _free_name(job)
                )
                identifier = str(created["Id"])
            try:
                with engine_errors(f"start {job.command[0]} in {job.image}"):
                    output = api.attach(identifier, stdout=True, stderr=True, stream=True)
                    copier = threading.Thread(target=_copy, args=(output, log), daemon=True)
                    copier.start()
                    api.start(identifier)
                exit_ = self._follow(identifier, job, watch)
                copier.join(5.0)
                if exit_.code == 137 and exit_.stopped is None and not exit_.oom_killed:
                    # Podman's API does not report all out-of-memory kills; this machine's kernel does.
                    return replace(exit_, oom_killed=killed_for_memory(identifier, kills_before))
                return exit_
            finally:
                with contextlib.suppress(*_UNREACHABLE):
                    api.remove_container(identifier, force=True, v=True)

    def configuration(self, job: Job) -> Any:
        """The engine's description of a job's container."""
        if job.image is None:
            raise needs_image(self.name)
        podman, rootless = self.daemon.podman, self.daemon.rootless
        for mount in job.mounts if podman else ():
            if set(str(mount.path)) & set(',"'):  # Podman writes them as comma-separated values, unquoted
                message = "Podman cannot mount a path with a comma or a double quote"
                remedy = "move the project to a directory without them, or use docker"
                raise EngineError(message, value=str(mount.path), remedy=remedy)
        user = "0:0" if rootless and not podman else f"{os.getuid()}:{os.getgid()}"
        memory = job.limits.memory_bytes
        api = self.client.api
        host = api.create_host_config(
            mounts=[_bind(mount) for mount in job.mounts],
            network_mode="none",
            cap_drop=["ALL"],
            security_opt=["no-new-privileges"],
            privileged=False,
            mem_limit=memory,
            memswap_limit=memory,
            pids_limit=8192,
            init=self.daemon.init,
            userns_mode="keep-id" if podman and rootless else None,
            ulimits=self._limits_of_ours(),
            log_config=docker.types.LogConfig(type="none"),
        )
        return api.create_container_config(
            job.image,
            list(job.command[1:]),
            entrypoint=[job.command[0]],
            user=user,
            environment=job.environment(),
            working_dir=str(job.cwd),
            labels=job.labels.as_dict(),
            host_config=host,
        )

    def _limits_of_ours(self) -> list[Any]:
        """No core dumps; for Podman, which requests a million open files, this process's limit."""
        limits = [docker.types.Ulimit(name="core", soft=0, hard=0)]
        if self.daemon.podman:
            for name, number in (("nofile", resource.RLIMIT_NOFILE), ("nproc", resource.RLIMIT_NPROC)):
                hard = min(resource.getrlimit(number)[1] % (1 << 63), _MOST_OF_A_LIMIT)
                limits.append(docker.types.Ulimit(name=name, soft=hard, hard=hard))
        return limits

    def remove_leftovers(self, project: Path) -> list[str]:
        """Remove this project's containers whose owner is dead."""
        removed = []
        with engine_errors("look for containers that an earlier workflow left"):
            found = self.client.api.containers(all=True, filters={"label": f"{PROJECT}={project.resolve()}"})
        for entry in found:
            if is_leftover(entry.get("Labels") or {}, project):
                doing = "remove a leftover container"
                with engine_errors(doing), contextlib.suppress(docker.errors.NotFound):
                    self.client.api.remove_container(entry["Id"], force=True, v=True)
                    removed.append(f"container {(entry.get('Names') or [entry['Id'][:12]])[0].lstrip('/')}")
        return removed

    def _follow(self, identifier: str, job: Job, watch: StopWatch) -> Exit:
        api = self.client.api
        peak, next_sample, lost_since, back = 0, 0.3, None, -math.inf
        waits = intervals()
        while True:
            try:
                state = api.inspect_container(identifier)["State"]
                if lost_since is not None:
                    lost_since, back = None, time.monotonic()
                if not state["Running"] and state["Status"] in ("exited", "dead", "stopped"):
                    return _exit(state, peak, watch, restarted=time.monotonic() - back < _RESTART_SECONDS)
                if watch.seconds >= next_sample:
                    next_sample = watch.seconds + job.sample_seconds
                    memory = self._memory(identifier)
                    peak = max(peak, memory or 0)
                    if job.on_sample is not None:
                        job.on_sample(Sample(watch.seconds, memory))
                self._stop_if_due(identifier, job, watch)
            except docker.errors.NotFound:
                return Exit(137, 9, False, peak or None, watch.seconds, watch.reason or "engine")
            except _UNREACHABLE:
                lost_since = lost_since or time.monotonic()
                if time.monotonic() - lost_since > self.away_seconds:
                    return Exit(137, None, False, peak or None, watch.seconds, watch.reason or "engine")
            time.sleep(next(waits))

    def _stop_if_due(self, identifier: str, job: Job, watch: StopWatch) -> None:
        with contextlib.suppress(docker.errors.APIError):  # it may end meanwhile
            if watch.should_stop():
                self.client.api.kill(identifier, job.limits.stop_signal.name)
            if watch.should_kill():
                self.client.api.kill(identifier, "SIGKILL")

    def _memory(self, identifier: str) -> int | None:
        """Memory in use as ``docker stats`` shows it, without droppable page cache."""
        with contextlib.suppress(docker.errors.APIError, ValueError):
            answer = self.client.api.stats(identifier, stream=False, one_shot=True)
            memory = answer.get("memory_stats") or {}
            detail = memory.get("stats") or {}
            cache = detail.get("inactive_file", detail.get("total_inactive_file", 0))
            if "usage" in memory:
                return max(0, int(memory["usage"]) - int(cache))
        return None


def _bind(mount: Mount) -> docker.types.Mount:
    path = str(mount.path)
    return docker.types.Mount(path, path, type="bind", read_only=not mount.writable)


def _free_name(job: Job) -> str:
    return f"apuflow-{re.sub(r'[^A-Za-z0-9_.-]+', '-', job.labels.point)[:60]}-{secrets.token_hex(4)}"


def _exit(state: dict[str, Any], peak: int, watch: StopWatch, *, restarted: bool) -> Exit:
    code = int(state["ExitCode"])
    number = code - 128 if 128 < code < 160 else None
    killed = bool(state.get("OOMKilled")) and code != 0
    reason = watch.reason or ("engine" if restarted and code in _ENDED_BY_ENGINE else None)
    return Exit(code, number, killed, peak or None, watch.seconds, reason)


def _copy(output: Iterator[bytes], log: Any) -> None:
    with contextlib.suppress(*_UNREACHABLE, OSError, ValueError):
        for chunk in output:
            log.write(chunk)
