"""Mode build on a real Docker daemon: a Dockerfile of a git repository, repaired before it is built."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
import yaml
from image_stage import make_image
from standins.repositories import commit, git

import docker
from apuflow.core.errors import ConfigError, EngineError
from apuflow.prepare.images import ImageRecord
from apuflow.prepare.tools import Toolset

pytestmark = pytest.mark.engine

RELEASE, DIRECTORY = "v23.0", "util/dockerfiles/gcn-gpu"
PLATFORM = {
    "name": "platform",
    "why": "gem5 8fc2c4c9b4",
    "replace": "FROM --platform=${BUILDPLATFORM} ",
    "with": "FROM ",
}
"""As v23.1 and v24.0 begin: Docker's own builder refuses it."""
PACKAGE = {"name": "package", "why": "gem5 issue 1967", "after": "make", "insert": " gfortran"}


class Project:
    """A project whose release builds its image from a Dockerfile in a repository that stands for gem5."""

    def __init__(self, root: Path, url: str, base: str) -> None:
        self.root, self.url = root, url
        self.gem5 = root.parent / "gem5"
        place = self.gem5 / DIRECTORY
        place.mkdir(parents=True)
        (place / "Dockerfile").write_text(
            f"FROM --platform=${{BUILDPLATFORM}} {base}\nRUN echo make > /packages\nCOPY patch /patch\n"
        )
        (place / "patch").write_text("at v22-1\n")
        self.commit = commit(self.gem5)
        site = f"container: docker\nsocket: {url}\nimage: {{mode: build}}\nmirrors: {{gem5: {self.gem5}}}\n"
        (root / "configs/site.yaml").write_text(site)

    def repairs(self, *repairs: Mapping[str, object], source: dict[str, str] | None = None) -> None:
        """Write the release's repairs, and where its image may come from besides."""
        path = self.root / f"configs/gem5/{RELEASE}.yaml"
        content = yaml.safe_load(path.read_text())
        dockerfile = {"dockerfile": DIRECTORY, "commit": self.commit, "repairs": list(repairs)}
        content["image"] = {"sources": [dockerfile, *([source] if source else [])]}
        path.write_text(yaml.safe_dump(content, sort_keys=False))

    def image(self) -> ImageRecord:
        return make_image(RELEASE, self.root, self.log)

    def read(self, image: ImageRecord, file: str) -> str:
        """A file of an image."""
        client = docker.DockerClient(base_url=self.url)
        return str(client.containers.run(str(image.reference), ["cat", file], remove=True).decode())

    @property
    def log(self) -> Path:
        return self.root / "image.log"


@pytest.fixture
def project(
    tmp_path: Path, docker_url: str, docker_image: str, new_project: Callable[[Path], Path]
) -> Iterator[Project]:
    yield Project(new_project(tmp_path), docker_url, docker_image)
    client = docker.DockerClient(base_url=docker_url)
    for image in client.images.list(name="apuflow/gcn-gpu"):
        client.images.remove(str(image.id), force=True, noprune=True)


def test_a_dockerfile_is_built_as_the_repairs_leave_it(project: Project) -> None:
    patch = {"name": "patch", "why": "gone", "file": "patch", "pattern": "v22-(.)", "with": r"develop-\1"}
    project.repairs(PLATFORM, PACKAGE, patch)
    first = project.image()
    assert project.read(first, "/packages") == "make gfortran\n"
    assert project.read(first, "/patch") == "at develop-1\n"
    assert first.dockerfile is not None
    assert first.dockerfile.repairs == ("platform", "package", "patch")
    assert first.dockerfile.commit == project.commit
    assert "RUN echo make gfortran > /packages" in first.dockerfile.text
    assert git(project.root / f"build/sources/gem5-{project.commit[:12]}", "status", "--porcelain") == ""
    assert "repairs platform, package, patch" in project.log.read_text()
    record = Toolset(RELEASE, project.root).record("image")
    project.repairs(PLATFORM, {**PACKAGE, "insert": " gfortran-10"}, patch)
    assert Toolset(RELEASE, project.root).record("image") != record
    assert project.read(project.image(), "/packages") == "make gfortran-10\n"


def test_a_repair_that_no_longer_matches_stops_before_anything_is_built(project: Project) -> None:
    project.repairs(PLATFORM, PACKAGE | {"after": "cmake"})
    with pytest.raises(ConfigError, match="the repair package does not match") as caught:
        project.image()
    assert str(caught.value.file).startswith(f"{project.root}/configs/gem5/{RELEASE}.yaml:")
    assert "remove the repair if upstream has mended this" in str(caught.value)
    assert not docker.DockerClient(base_url=project.url).images.list(name="apuflow/gcn-gpu")


def test_a_dockerfile_that_cannot_be_repaired_is_passed_over_with_its_reason(
    project: Project, docker_image: str
) -> None:
    project.repairs(PLATFORM, PACKAGE | {"after": "cmake"}, source={"local": docker_image})
    site = project.root / "configs/site.yaml"
    site.write_text(site.read_text().replace("image: {mode: build}\n", ""))
    assert project.image().kind == "local"
    assert "the repair package does not match" in project.log.read_text()
    project.repairs(PLATFORM, PACKAGE | {"after": "cmake"}, source={"local": "nonesuch:never"})
    with pytest.raises(EngineError, match="no source has the image") as caught:
        project.image()
    assert f"configs/gem5/{RELEASE}.yaml:" in str(caught.value)
