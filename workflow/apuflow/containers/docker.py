"""Docker through its SDK; Podman through the same API on its own socket."""

from __future__ import annotations

import contextlib
import itertools
import math
import re
import resource
import secrets
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import docker.errors
import docker.types
import requests.exceptions

import docker
from apuflow.containers.docker_connection import Daemon, connect, describe, engine_errors
from apuflow.containers.job import Exit, Job, Sample, StopWatch, caller, intervals
from apuflow.core.errors import EngineError
from apuflow.core.owner import PROJECT, is_leftover
from apuflow.core.proc import kernel_oom_kills, killed_for_memory

_AWAY_SECONDS = 300.0
_RESTART_SECONDS = 60.0
"""A restarted engine ends running containers within this time, unless it keeps them alive."""
_ENDED_BY_ENGINE = (137, 143, 255)
"""SIGKILL, SIGTERM, and Docker's code for a container that ended while the daemon was down."""
_MOST_OF_A_LIMIT = 1 << 13
_UNREACHABLE = (requests.exceptions.RequestException, docker.errors.DockerException)


class DockerEngine:
    """Runs jobs as containers without privileges, as the caller, seeing only their mounts."""

    away_seconds = _AWAY_SECONDS
    """Time without an answer after which a job counts as lost.

    An upgrade that keeps containers alive takes minutes; a run may take days.
    """

    def __init__(self, name: str = "docker", socket: str | None = None, answer_seconds: int = 60) -> None:
        self.name = name
        self.address = socket
        self._answer_seconds = answer_seconds
        self._client: docker.DockerClient | None = None
        self._daemon: Daemon | None = None

    @property
    def client(self) -> docker.DockerClient:
        """The connection, made at first use. Raises EngineError if there is no engine."""
        if self._client is None:
            self._client = connect(self.name, self.address, timeout=self._answer_seconds)
        return self._client

    @property
    def daemon(self) -> Daemon:
        """The daemon, contacted once."""
        if self._daemon is None:
            self._daemon = describe(self.client)
        return self._daemon

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
                return _with_kernel_kills(exit_, identifier, kills_before)
            finally:
                with contextlib.suppress(*_UNREACHABLE):
                    api.remove_container(identifier, force=True, v=True)

    def configuration(self, job: Job) -> Any:
        """The engine's description of a job's container."""
        if job.image is None:
            raise EngineError(
                f"the {self.name} engine needs an image",
                key="image",
                remedy="name one under image in configs/site.yaml",
            )
        if self.daemon.podman:
            for mount in job.mounts:
                _refuse_for_podman(mount.path)
        uid, gid = caller()
        keep_id = self.daemon.podman and self.daemon.rootless
        user = "0:0" if self.daemon.rootless and not self.daemon.podman else f"{uid}:{gid}"
        limits = job.limits
        api = self.client.api
        host = api.create_host_config(
            mounts=[
                docker.types.Mount(
                    str(mount.path), str(mount.path), type="bind", read_only=not mount.writable
                )
                for mount in job.mounts
            ],
            network_mode=("bridge" if self.daemon.bridge else "host") if job.network else "none",
            cap_drop=["ALL"],
            security_opt=["no-new-privileges"],
            privileged=False,
            mem_limit=limits.memory_bytes,
            memswap_limit=limits.memory_bytes,
            nano_cpus=None if limits.cpus is None else int(limits.cpus * 1e9),
            pids_limit=8192,
            init=self.daemon.init,
            userns_mode="keep-id" if keep_id else None,
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
                with (
                    contextlib.suppress(docker.errors.NotFound),
                    engine_errors("remove a leftover container"),
                ):
                    self.client.api.remove_container(entry["Id"], force=True, v=True)
                    removed.append(f"container {(entry.get('Names') or [entry['Id'][:12]])[0].lstrip('/')}")
        return removed

    def _follow(self, identifier: str, job: Job, watch: StopWatch) -> Exit:
        api = self.client.api
        peak, next_sample, lost_since, back = 0, 0.3, None, -math.inf
        for wait in itertools.chain(intervals(), itertools.repeat(intervals()[-1])):
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
            time.sleep(wait)
        raise AssertionError("the loop above has no end")

    def _stop_if_due(self, identifier: str, job: Job, watch: StopWatch) -> None:
        with contextlib.suppress(docker.errors.APIError):  # it may end meanwhile
            if watch.should_stop():
                self.client.api.kill(identifier, job.limits.stop_signal.name)
            if watch.should_kill():
                self.client.api.kill(identifier, "SIGKILL")

    def _memory(self, identifier: str) -> int | None:
        """Memory in use as ``docker stats`` shows it, without droppable page cache."""
        with contextlib.suppress(docker.errors.APIError, ValueError):
            statistics = (
                self.client.api.stats(identifier, stream=False, one_shot=True).get("memory_stats") or {}
            )
            detail = statistics.get("stats") or {}
            cache = detail.get("inactive_file", detail.get("total_inactive_file", 0))
            if "usage" in statistics:
                return max(0, int(statistics["usage"]) - int(cache))
        return None


def _refuse_for_podman(path: Path) -> None:
    """Podman writes mounts as comma-separated values and does not quote them."""
    if set(str(path)) & set(',"'):
        raise EngineError(
            "Podman cannot mount a path with a comma or a double quote",
            value=str(path),
            remedy="move the project to a directory without them, or use docker",
        )


def _with_kernel_kills(exit_: Exit, container: str, kills_before: int) -> Exit:
    """Podman's API does not report all out-of-memory kills; this machine's kernel does."""
    if exit_.code != 137 or exit_.stopped is not None or exit_.oom_killed:
        return exit_
    return replace(exit_, oom_killed=killed_for_memory(container, kills_before))


def _free_name(job: Job) -> str:
    return f"apuflow-{re.sub(r'[^A-Za-z0-9_.-]+', '-', job.labels.point)[:60]}-{secrets.token_hex(4)}"


def _exit(state: dict[str, Any], peak: int, watch: StopWatch, *, restarted: bool) -> Exit:
    code = int(state["ExitCode"])
    ended_by_engine = restarted and code in _ENDED_BY_ENGINE
    return Exit(
        code,
        code - 128 if 128 < code < 160 else None,
        bool(state.get("OOMKilled")) and code != 0,
        peak or None,
        watch.seconds,
        watch.reason or ("engine" if ended_by_engine else None),
    )


def _copy(output: Iterator[bytes], log: Any) -> None:
    with contextlib.suppress(*_UNREACHABLE, OSError, ValueError):
        for chunk in output:
            log.write(chunk)
