"""Images from a recipe on a real Docker daemon: stage by stage, going on after a failure."""

from __future__ import annotations

import os
import tarfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from apuflow.configure.image_source import ImageSource
from apuflow.containers.docker import DockerEngine
from apuflow.containers.job import Job
from apuflow.core.errors import ConfigError, EngineError
from apuflow.core.owner import Labels
from apuflow.prepare.docker_images import build_stages
from apuflow.prepare.images import ImagePlan, ImageRecord, first_image
from apuflow.prepare.recipes import SourcesBuild, read_done, read_recipe

pytestmark = pytest.mark.engine

DOCKERFILE = """\
ARG BASE
FROM ${BASE} AS first
ARG SOURCES
COPY ${SOURCES}/one.txt /one.txt
RUN date +%N > /stamp
FROM first AS second
RUN test -s /one.txt && test ! -e /never && cp /one.txt /two.txt
FROM second
ARG WORD=none
RUN echo "${WORD}" > /word && cat /one.txt /two.txt > /three.txt
"""


@pytest.fixture
def engine(docker_url: str) -> DockerEngine:
    return DockerEngine("docker", docker_url)


@pytest.fixture
def build(tmp_path: Path, docker_image: str) -> SourcesBuild:
    recipe, sources = tmp_path / "recipe", tmp_path / "mirror"
    recipe.mkdir()
    sources.mkdir()
    (recipe / "Dockerfile").write_text(DOCKERFILE)
    (recipe / "recipe.yaml").write_text("minutes: {first: 4, second: 20, image: 1}\n")
    (sources / "one.txt").write_text("one\n")
    return SourcesBuild(
        read_recipe(recipe), tmp_path / "done.json", base=docker_image, sources=str(sources), cores=1
    )


@pytest.fixture
def name(engine: DockerEngine) -> Iterator[str]:
    name = f"apuflow-test-recipe-{os.getpid()}"
    yield name
    for image in engine.client.images.list():
        for tag in image.tags:
            if tag.startswith(name):
                engine.client.images.remove(tag, force=True, noprune=True)


def read(engine: DockerEngine, image: str, file: str, tmp_path: Path) -> str:
    """A file of an image, as a job in it prints it."""
    log = tmp_path / "read.log"
    home = tmp_path / "home"
    home.mkdir(exist_ok=True)
    labels = Labels.here(tmp_path, "test")
    log.unlink(missing_ok=True)
    engine.run(Job(command=("cat", file), cwd=tmp_path, home=home, log=log, image=image, labels=labels))
    return log.read_text()


def test_stages_are_built_in_order_and_kept(
    engine: DockerEngine, build: SourcesBuild, name: str, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    build = replace(build, arguments={"WORD": "hello"})
    source = ImageSource(recipe=str(build.recipe.directory))
    record, _ = first_image(engine, ImagePlan((source,), log, tag=name, build=lambda _: build))
    assert isinstance(record, ImageRecord) and record.reference is not None
    assert (record.kind, record.digest) == ("recipe", record.reference)
    assert read(engine, record.reference, "/three.txt", tmp_path) == "one\none\n"
    assert read(engine, record.reference, "/word", tmp_path) == "hello\n"
    text = log.read_text()
    assert "3 of 3 stages to build (first, second, image): about 25 min on two cores" in text
    assert "apuflow: stage 2 of 3: second" in text
    assert "about 60 s left on two cores" in text
    assert set(read_done(build.note)) == {"first", "second", "image"}
    tags = {tag for image in engine.client.images.list() for tag in image.tags}
    assert {f"{name}:latest", f"{name}-first:latest", f"{name}-second:latest"} <= tags


def test_a_build_that_failed_goes_on_where_it_stopped(
    engine: DockerEngine, build: SourcesBuild, name: str, tmp_path: Path
) -> None:
    dockerfile = build.recipe.directory / "Dockerfile"
    dockerfile.write_text(DOCKERFILE.replace("test -s /one.txt", "echo why; false"))
    log = tmp_path / "log"
    with pytest.raises(EngineError, match="stage second of the image failed") as caught:
        build_stages(engine, build, name, log)
    assert "why" in str(caught.value) and "the stages before it are kept" in str(caught.value)
    assert set(read_done(build.note)) == {"first"}
    stamp = read(engine, f"{name}-first", "/stamp", tmp_path)
    dockerfile.write_text(DOCKERFILE)
    os.utime(Path(build.sources or "") / "one.txt", (1, 1))
    build_stages(engine, replace(build, recipe=read_recipe(build.recipe.directory)), name, log)
    assert read(engine, name, "/stamp", tmp_path) == stamp


def test_what_the_recipe_does_not_take_is_refused(
    engine: DockerEngine, build: SourcesBuild, name: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match="takes no build argument COLOUR"):
        build_stages(engine, replace(build, arguments={"COLOUR": "red"}), name, tmp_path / "log")


def test_a_base_is_made_by_debootstrap_once(
    engine: DockerEngine, build: SourcesBuild, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stand-in for debootstrap: it unpacks nothing of Debian, and says how it was called."""
    suite = f"toy{os.getpid()}"
    tools = tmp_path / "bin"
    tools.mkdir()
    program = tools / "debootstrap"
    program.write_text(
        f'#!/bin/sh\necho "$@" >> {tmp_path}/called\nmkdir -p "$3/etc"\necho toy > "$3/etc/issue"\n'
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:{os.environ['PATH']}")
    monkeypatch.setattr(os, "getuid", lambda: 0)
    dockerfile = build.recipe.directory / "Dockerfile"
    dockerfile.write_text("ARG BASE\nFROM ${BASE}\nCOPY recipe.yaml /\n")
    (build.recipe.directory / "recipe.yaml").write_text("disk: 1GB\n")
    made = replace(
        build,
        recipe=read_recipe(build.recipe.directory),
        base=suite,
        sources=None,
        debian="http://mirror.invalid",
    )
    try:
        build_stages(engine, made, name, tmp_path / "log")
        build_stages(engine, made, name, tmp_path / "log")
        called = (tmp_path / "called").read_text().splitlines()
        assert len(called) == 1
        assert called[0].startswith(f"--variant=minbase {suite} ") and called[0].endswith(
            "http://mirror.invalid"
        )
        archive = tmp_path / "image.tar"
        with archive.open("wb") as stream:
            for chunk in engine.client.images.get(name).save():
                stream.write(chunk)
        with tarfile.open(archive) as saved:
            assert any(member.name == "manifest.json" for member in saved)
    finally:
        engine.client.images.remove(f"apuflow/debian-{suite}:latest", force=True, noprune=True)
    program.write_text("#!/bin/sh\nexit 3\n")
    with pytest.raises(EngineError, match="debootstrap failed with status 3"):
        build_stages(engine, replace(made, base=f"{suite}x"), name, tmp_path / "log")
