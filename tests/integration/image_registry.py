"""A real registry of container images on loopback, started for tests."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import needs
import requests

import docker


@dataclass
class Registry:
    """A registry that tests may stop and start again on the same data."""

    directory: Path
    port: int
    process: subprocess.Popen[bytes] | None = None

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    def start(self, htpasswd: Path | None = None) -> None:
        """Start it; with a password file it lets in those of that file alone."""
        auth = f"auth: {{htpasswd: {{realm: test, path: {htpasswd}}}}}\n" if htpasswd else ""
        config = self.directory / "config.yml"
        config.write_text(
            f"version: 0.1\nstorage: {{filesystem: {{rootdirectory: {self.directory}/data}}, "
            f"delete: {{enabled: true}}}}\nhttp: {{addr: '{self.host}'}}\n{auth}"
        )
        with (self.directory / "log").open("ab") as log:
            command = [needs.REGISTRY.required_program(), "serve", str(config)]
            self.process = subprocess.Popen(command, stdout=log, stderr=log)
        for _ in range(300):
            with contextlib.suppress(requests.exceptions.ConnectionError):
                requests.get(f"http://{self.host}/v2/", timeout=5)
                return
            time.sleep(0.1)
        raise AssertionError((self.directory / "log").read_text()[-2000:])

    def stop(self) -> None:
        if self.process is not None:
            self.process.terminate()
            self.process.wait(30)
            self.process = None

    def push(self, url: str, image: str, name: str, content: str, megabytes: int = 0) -> str:
        """Push an image with a label of this content under ``name:tag``; return the manifest's digest.

        Args:
            megabytes: of random numbers in a layer of their own.
        """
        client = docker.DockerClient(base_url=url, timeout=120)
        command = f"head -c {megabytes}000000 /dev/urandom >/random"
        made = client.containers.create(image, ["sh", "-c", command], network_mode="none")
        try:
            if megabytes:
                made.start()
                assert made.wait()["StatusCode"] == 0
            repository, _, tag = name.rpartition(":")
            committed = made.commit(f"{self.host}/{repository}", tag, changes=f"LABEL content={content}")
        finally:
            made.remove()
        for line in client.api.push(f"{self.host}/{repository}", tag=tag, stream=True, decode=True):
            assert "error" not in line, line
        found = client.images.get_registry_data(f"{self.host}/{name}").id
        for reference in (f"{self.host}/{name}", str(committed.id)):
            with contextlib.suppress(docker.errors.ImageNotFound):
                client.images.remove(reference, force=True, noprune=True)
        return str(found)


@contextlib.contextmanager
def registry(directory: Path) -> Iterator[Registry]:
    """A registry below a directory, on a free port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    served = Registry(directory, port)
    served.start()
    yield served
    served.stop()
