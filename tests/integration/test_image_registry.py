"""Images from a real registry: sources in order, digests, the lock."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import needs
import pytest
import yaml
from image_registry import Registry, registry
from image_stage import make_image

import docker
from apuflow.configure import load_release, load_site
from apuflow.containers.registry import Manifest, manifest
from apuflow.core.errors import ConfigError, EngineError
from apuflow.prepare.doctor import Check, State, examine
from apuflow.prepare.images import ImageRecord
from apuflow.prepare.tools import Toolset

pytestmark = pytest.mark.engine

RELEASE = "v23.0"
FIRST, SECOND = "gem5/gcn-gpu:v22-1", "gem5/gcn-gpu:v23-1"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    with registry(tmp_path_factory.mktemp("registry")) as found:
        yield found


class Project:
    """A project whose release takes its image from the registry under two names."""

    def __init__(self, root: Path, url: str, served: Registry) -> None:
        self.root, self.url, self.served = root, url, served
        self.names(FIRST, SECOND)

    def names(self, *names: str, digest: str | None = None) -> None:
        """Write the release's sources and forget the record of its image."""
        path = self.root / f"configs/gem5/{RELEASE}.yaml"
        content = yaml.safe_load(path.read_text())
        content["image"]["sources"] = [
            {"registry": f"{self.served.host}/{name}", **({"digest": digest} if digest else {})}
            for name in names
        ]
        path.write_text(yaml.safe_dump(content, sort_keys=False))
        (self.root / "configs/site.yaml").write_text(f"container: docker\nsocket: {self.url}\n")

    def image(self) -> ImageRecord:
        return make_image(RELEASE, self.root, self.log)

    @property
    def log(self) -> Path:
        return self.root / "image.log"

    @property
    def lock(self) -> Path:
        return self.root / "images.lock.yaml"


@pytest.fixture
def project(
    tmp_path: Path, docker_url: str, served: Registry, new_project: Callable[[Path], Path]
) -> Iterator[Project]:
    yield Project(new_project(tmp_path), docker_url, served)
    client = docker.DockerClient(base_url=docker_url)
    for image in client.images.list():
        if any(served.host in name for name in image.attrs.get("RepoDigests") or []):
            client.images.remove(str(image.id), force=True, noprune=True)


def test_the_second_name_answers_where_the_first_is_gone(
    project: Project, served: Registry, docker_url: str, docker_image: str
) -> None:
    digest = served.push(docker_url, docker_image, SECOND, "second")
    record = project.image()
    assert (record.kind, record.name, record.digest) == ("registry", f"{served.host}/{SECOND}", digest)
    assert f"passed over: registry {served.host}/{FIRST}" in project.log.read_text()
    locked = yaml.safe_load(project.lock.read_text())["images"][RELEASE]
    assert locked == {"registry": f"{served.host}/{SECOND}", "digest": digest}


def test_a_tag_that_moves_after_the_lock_changes_nothing(
    project: Project, served: Registry, docker_url: str, docker_image: str
) -> None:
    before = served.push(docker_url, docker_image, SECOND, "before")
    assert project.image().digest == before
    after = served.push(docker_url, docker_image, SECOND, "after")
    first = served.push(docker_url, docker_image, "gem5/other:v1", "other")
    assert len({before, after, first}) == 3
    assert project.image().digest == before
    project.lock.unlink()
    assert project.image().digest == after


def test_a_locked_image_needs_no_registry_where_the_engine_has_it(
    project: Project, served: Registry, docker_url: str, docker_image: str
) -> None:
    digest = served.push(docker_url, docker_image, SECOND, "kept")
    project.image()
    served.stop()
    try:
        assert project.image().digest == digest
    finally:
        served.start()


def test_an_image_recorded_here_that_the_lock_contradicts_is_refused(
    project: Project, served: Registry, docker_url: str, docker_image: str
) -> None:
    digest = served.push(docker_url, docker_image, SECOND, "mine")
    project.image()
    other = f"sha256:{'0' * 64}"
    project.lock.write_text(project.lock.read_text().replace(digest, other))
    with pytest.raises(ConfigError, match="another image than the lock fixes") as caught:
        _ = Toolset(RELEASE, project.root).image
    assert caught.value.file == "images.lock.yaml" and caught.value.key == f"images.{RELEASE}.digest"
    with pytest.raises(EngineError, match=r"manifest unknown|not found"):
        project.image()


def test_a_registry_without_the_wanted_digest_is_passed_over(
    project: Project, served: Registry, docker_url: str, docker_image: str
) -> None:
    served.push(docker_url, docker_image, SECOND, "another")
    project.names(FIRST, SECOND, digest=f"sha256:{'1' * 64}")
    with pytest.raises(EngineError, match="no source has the image") as caught:
        project.image()
    assert f"1. registry {served.host}/{FIRST}" in str(caught.value)
    assert f"2. registry {served.host}/{SECOND}" in str(caught.value)
    assert "results/kernels/report.html" in str(caught.value)
    assert not project.lock.exists()


def test_a_registry_that_is_down_is_named(project: Project, served: Registry) -> None:
    served.stop()
    try:
        with pytest.raises(EngineError, match=r"connection refused"):
            project.image()
    finally:
        served.start()


def test_a_registry_that_wants_a_login_says_so(project: Project, served: Registry, tmp_path: Path) -> None:
    passwords = tmp_path / "htpasswd"
    subprocess.run(["htpasswd", "-Bbc", str(passwords), "reader", "secret"], check=True, capture_output=True)
    served.stop()
    served.start(passwords)
    try:
        with pytest.raises(EngineError, match=f"docker login {served.host}"):
            project.image()
    finally:
        served.stop()
        served.start()


def test_a_pull_that_is_killed_leaves_no_record_and_the_next_one_is_whole(
    project: Project, served: Registry, docker_url: str, docker_image: str
) -> None:
    digest = served.push(docker_url, docker_image, SECOND, "large", megabytes=150)
    code = f"from image_stage import make_image; make_image({RELEASE!r}, Path({str(project.root)!r}), "
    code = f"from pathlib import Path; {code}Path({str(project.log)!r}))"
    process = subprocess.Popen([sys.executable, "-c", code], cwd=Path(__file__).parent)
    while not (project.log.is_file() and "pulling" in project.log.read_text()):
        assert process.poll() is None
        time.sleep(0.02)
    process.kill()
    process.wait()
    record = project.root / Toolset(RELEASE, project.root).record("image")
    assert not record.exists() and not project.lock.exists()
    assert project.image().digest == digest and record.exists()


@pytest.fixture
def podman(served: Registry) -> Iterator[str]:
    """Podman's service on a store of its own, which may ask the registry without TLS."""
    program = needs.PODMAN.required_program()
    with tempfile.TemporaryDirectory(prefix="podman-") as place:  # Podman takes short paths alone
        registries, socket = Path(place, "registries.conf"), Path(place, "sock")
        registries.write_text(f'[[registry]]\nlocation = "{served.host}"\ninsecure = true\n')
        store = (f"--root={place}/store", f"--runroot={place}/run", "--storage-driver=vfs", "--runtime=runc")
        process = subprocess.Popen(
            [program, *store, "system", "service", "--time=0", f"unix://{socket}"],
            env={**os.environ, "CONTAINERS_REGISTRIES_CONF": str(registries)},
        )
        while not socket.exists():
            assert process.poll() is None
            time.sleep(0.1)
        yield f"unix://{socket}"
        process.terminate()
        process.wait(30)


def test_podman_takes_the_second_name_and_locks_what_it_pulled(
    project: Project, served: Registry, docker_url: str, docker_image: str, podman: str
) -> None:
    """Podman 4.3 has no call for a digest, which Docker has."""
    digest = served.push(docker_url, docker_image, SECOND, "podman")
    (project.root / "configs/site.yaml").write_text(f"container: podman\nsocket: {podman}\n")
    record = project.image()
    assert (record.engine, record.name, record.digest) == ("podman", f"{served.host}/{SECOND}", digest)
    assert "manifest unknown" in project.log.read_text()
    served.push(docker_url, docker_image, SECOND, "moved")
    assert project.image().digest == digest
    project.lock.write_text(project.lock.read_text().replace(digest, f"sha256:{'2' * 64}"))
    with pytest.raises(EngineError, match="manifest unknown") as caught:
        project.image()
    assert "correct its name, tag or digest" in str(caught.value.remedy)


def layer_bytes(served: Registry, digest: str) -> int:
    """Bytes of an image's layers as they lie in the registry's store."""

    def blob(name: str) -> Path:
        number = name.removeprefix("sha256:")
        store = served.directory / "data/docker/registry/v2/blobs/sha256"
        return store / number[:2] / number / "data"

    layers = json.loads(blob(digest).read_text())["layers"]
    return sum(blob(layer["digest"]).stat().st_size for layer in layers)


def test_a_registry_tells_digest_and_size_without_an_engine(
    served: Registry, docker_url: str, docker_image: str
) -> None:
    """As for Apptainer, which has no command for it."""
    digest = served.push(docker_url, docker_image, "gem5/asked:v1", "asked")
    for given in (None, digest):
        found = manifest(f"{served.host}/gem5/asked:v1", given)
        assert found == Manifest(digest, layer_bytes(served, digest))
    with pytest.raises(EngineError, match="manifest unknown"):
        manifest(f"{served.host}/gem5/gone:v1")
    served.stop()
    try:
        with pytest.raises(EngineError, match="does not answer"):
            manifest(f"{served.host}/gem5/asked:v1")
    finally:
        served.start()


def test_doctor_names_the_image_without_pulling_it(
    project: Project, served: Registry, docker_url: str, docker_image: str
) -> None:
    digest = served.push(docker_url, docker_image, SECOND, "found")

    def image() -> Check:
        checks = examine(load_site(project.root), load_release(RELEASE, project.root), project.root)
        return next(check for check in checks if check.name == "image")

    assert image().state is State.OK
    size = f"{layer_bytes(served, digest) / 1e6:.1f} MB to pull"
    text = f"{served.host}/{SECOND}, {digest}, {size}; not registry {served.host}/{FIRST}"
    assert image().detail.startswith(text)
    assert not docker.DockerClient(base_url=docker_url).images.list(name=f"{served.host}/gem5/gcn-gpu")
    project.names("gem5/gone:v1")
    assert image().state is State.MISSING
