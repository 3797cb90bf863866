"""A real Docker daemon for tests: the machine's own, or one that is started for them."""

from __future__ import annotations

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
import requests.exceptions

import docker

ROOT = Path(__file__).resolve().parents[2]
BASE = "localhost/apuflow-test-base"
CACHE = Path(os.environ.get("APUFLOW_TEST_CACHE", Path.home() / ".cache/apuflow-tests"))


@dataclass
class Daemon:
    """A dockerd of our own: no bridge, no firewall rules, everything below one directory."""

    directory: Path
    process: subprocess.Popen[bytes]

    @property
    def url(self) -> str:
        return f"unix://{self.directory}/sock"

    def stop(self) -> None:
        """End the daemon and what it has started; remove its directory."""
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.directory, ignore_errors=True)


def answers(url: str | None) -> bool:
    """Whether a daemon answers there (None: where Docker usually is)."""
    try:
        client = docker.DockerClient(base_url=url, timeout=20) if url else docker.from_env(timeout=20)
        return bool(client.ping())
    except (docker.errors.DockerException, requests.exceptions.RequestException):
        return False


def start() -> Daemon | None:
    """A daemon of our own, or None where that cannot be (not root, no dockerd)."""
    if os.getuid() != 0 or shutil.which("dockerd") is None:
        return None
    directory = Path(tempfile.mkdtemp(prefix="apuflow-dockerd-", dir="/var/tmp"))
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
    with (directory / "log").open("wb") as log:
        process = subprocess.Popen(["dockerd", *options], stdout=log, stderr=log)
    daemon = Daemon(directory, process)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        if answers(daemon.url):
            return daemon
        time.sleep(0.2)
    daemon.stop()
    return None


def load_base(url: str) -> str:
    """Give a daemon the image that tests run in; made once per machine. Returns its id."""
    recipe = ROOT / "docker/ci/base.sh"
    tools = sorted((ROOT / "tests/standins/bin").iterdir())
    content = b"".join(file.read_bytes() for file in (recipe, *tools))
    key = hashlib.sha256(content).hexdigest()[:12]
    name = f"{BASE}-{key}:latest"
    client = docker.DockerClient(base_url=url, timeout=300)
    try:
        return str(client.images.get(name).id)
    except docker.errors.ImageNotFound:
        archive = CACHE / f"base-{key}.tar"
        if not archive.exists():
            subprocess.run([recipe, archive], check=True, stdout=subprocess.DEVNULL)
        client.api.import_image_from_file(str(archive), repository=f"{BASE}-{key}", tag="latest")  # type: ignore[no-untyped-call]
        return str(client.images.get(name).id)
