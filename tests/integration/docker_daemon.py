"""A real Docker daemon for tests: the machine's own, or one that is started for them."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import docker.errors
import needs
import requests.exceptions
from places import ROOT

import docker

BASE = "localhost/apuflow-test-base"
CACHE = Path(os.environ.get("APUFLOW_TEST_CACHE", Path.home() / ".cache/apuflow-tests"))


@dataclass
class Daemon:
    """A dockerd of our own: no bridge, no firewall rules, everything below one directory."""

    directory: Path
    process: subprocess.Popen[bytes]
    containerd: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"unix://{self.directory}/sock"

    def is_ready(self, seconds: float = 60) -> bool:
        """Wait until it answers; False when it has ended or takes too long."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and self.process.poll() is None:
            if answers(self.url):
                return True
            time.sleep(0.2)
        return False

    def restart(self, number: signal.Signals) -> None:
        """End the daemon with this signal and start it again on the same data: an upgrade, or a crash."""
        self.process.send_signal(number)
        self.process.wait(60)
        self.process = _launch(self.directory, self.containerd is not None)
        assert self.is_ready(), (self.directory / "log").read_text()[-2000:]

    def stop(self) -> None:
        """End the daemon and what it has started; remove its directory."""
        for process in (self.process, self.containerd):
            if process is not None:
                process.send_signal(signal.SIGTERM)
                try:
                    process.wait(30)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
        subprocess.run(
            ["umount", "-l", self.directory / "exec/netns/default"], check=False, capture_output=True
        )
        shutil.rmtree(self.directory, ignore_errors=True)


def answers(url: str | None) -> bool:
    """Whether a daemon answers there (None: where Docker usually is)."""
    try:
        client = docker.DockerClient(base_url=url, timeout=20) if url else docker.from_env(timeout=20)
        return bool(client.ping())
    except (docker.errors.DockerException, requests.exceptions.RequestException):
        return False


def start(*, own_containerd: bool = False) -> Daemon | None:
    """A daemon of our own, or None where that cannot be (not root, no dockerd).

    Args:
        own_containerd: containerd is a service of its own, as distributions install it, and outlives dockerd.
    """
    if os.getuid() != 0 or needs.DOCKER.program() is None:
        return None
    directory = Path(tempfile.mkdtemp(prefix="apuflow-dockerd-", dir="/var/tmp"))
    containerd = _launch_containerd(directory) if own_containerd else None
    daemon = Daemon(directory, _launch(directory, own_containerd), containerd)
    if daemon.is_ready():
        return daemon
    daemon.stop()
    return None


def _launch_containerd(directory: Path) -> subprocess.Popen[bytes]:
    places = [f"--{name}={directory}/containerd-{name}" for name in ("root", "state")]
    with (directory / "containerd-log").open("ab") as log:
        command = ["containerd", *places, f"--address={directory}/containerd.sock"]
        return subprocess.Popen(command, stdout=log, stderr=log)


def _launch(directory: Path, own_containerd: bool) -> subprocess.Popen[bytes]:
    options = [
        "--iptables=false",
        "--ip6tables=false",
        "--bridge=none",
        "--shutdown-timeout=2",
        f"--data-root={directory}/data",
    ]
    options += [
        f"--exec-root={directory}/exec",
        f"--pidfile={directory}/pid",
        f"--host=unix://{directory}/sock",
    ]
    if own_containerd:
        options.append(f"--containerd={directory}/containerd.sock")
    with (directory / "log").open("ab") as log:
        return subprocess.Popen(["dockerd", *options], stdout=log, stderr=log)


def load_base(url: str) -> str:
    """Give a daemon the image that tests run in; made once per machine. Returns its id."""
    recipe = ROOT / "docker/ci/base.sh"
    tools = sorted((ROOT / "tests/standins/bin").iterdir())
    content = b"".join(file.read_bytes() for file in (recipe, *tools))
    key = hashlib.sha256(content).hexdigest()[:12]
    name = f"{BASE}-{key}:latest"
    client = docker.DockerClient(base_url=url, timeout=300)
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "lock").open("w") as lock:  # two workers may want it at once
        fcntl.flock(lock, fcntl.LOCK_EX)
        with contextlib.suppress(docker.errors.ImageNotFound):
            return str(client.images.get(name).id)
        archive = CACHE / f"base-{key}.tar"
        if not archive.exists():
            subprocess.run([recipe, archive], check=True, stdout=subprocess.DEVNULL)
        client.api.import_image_from_file(str(archive), repository=f"{BASE}-{key}", tag="latest")
        return str(client.images.get(name).id)
