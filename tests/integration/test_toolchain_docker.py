"""The whole way in containers, with stand-ins: image, gem5, DNNMark, a run; and how each step fails."""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from places import ROOT
from standins.repositories import behave, make_gem5, make_resources

from apuflow.configure import Release, load_release, load_sweep
from apuflow.configure.image_source import ImageSource
from apuflow.configure.point import Point
from apuflow.containers.docker import DockerEngine
from apuflow.containers.job import Limits
from apuflow.core.errors import ApuflowError, EngineError
from apuflow.core.record import Status
from apuflow.engines.dnnmark_program import dnnmark_process, kernel_launches
from apuflow.engines.simulated import gem5_of, mounts, point_facts, provenance
from apuflow.plan.points import points
from apuflow.prepare.builds import DnnmarkRecord, Gem5Record, build_dnnmark, build_gem5
from apuflow.prepare.data_file import write_mmap
from apuflow.prepare.images import ImagePlan, ImageRecord, first_image
from apuflow.prepare.sources import fetch_source
from apuflow.run.attempt import simulate
from apuflow.run.process import RunFailed, Simulation

pytestmark = pytest.mark.engine


def resolved(engine: DockerEngine, log: Path, **source: str) -> ImageRecord:
    """The image of one source; a Dockerfile's is called apuflow-test:made."""
    plan = ImagePlan((ImageSource.model_validate(source),), log, tag="apuflow-test:made")
    return first_image(engine, plan)[0]


class Site:
    """Everything that a run needs, made once in containers of a real daemon."""

    def __init__(self, project: Path, url: str, base: str) -> None:
        self.project = project
        self.engine = DockerEngine("docker", url)
        self.image: ImageRecord = resolved(self.engine, self.log("image"), local=base)
        upstream = project.parent / "upstream"
        gem5, resources = make_gem5(upstream / "gem5"), make_resources(upstream / "resources")
        step = {"container": self.engine, "image": self.image.reference, "project": project, "jobs": 2}
        source = fetch_source(str(gem5.path), gem5.commit, project / "sources/gem5")
        self.gem5: Gem5Record = build_gem5(source, "GCN3_X86", log=self.log("gem5"), **step)  # type: ignore[arg-type]
        source = fetch_source(str(resources.path), resources.commit, project / "sources/resources")
        self.dnnmark: DnnmarkRecord = build_dnnmark(source, log=self.log("dnnmark"), **step)  # type: ignore[arg-type]
        sweep = load_sweep("default", ROOT)
        self.release: Release = load_release(sweep.release, ROOT)
        self.point: Point = points(sweep, "softmax_fwd", ROOT)[0]
        self.data, self.database = project / "mmap.bin", project / "gfx801_4.ukdb"
        write_mmap(self.data, 409_600)
        with sqlite3.connect(self.database) as database:
            database.execute("create table kern_db (kernel_name text)")
            database.execute("insert into kern_db values ('MIOpenSoftmax.cl.o')")

    def log(self, name: str) -> Path:
        return self.project / f"logs/{name}.log"

    def simulation(self, *, database: bool = True, limits: Limits | None = None) -> Simulation:
        run_dir = self.project / "runs/gem5/softmax_fwd" / self.point.id
        shutil.rmtree(run_dir, ignore_errors=True)
        process = dnnmark_process(
            self.point,
            "test_fwd_softmax",
            self.release,
            self.dnnmark,
            run_dir=run_dir,
            database=self.database if database else None,
            data=self.data,
        )
        return Simulation(
            project=self.project,
            run_dir=run_dir,
            point=point_facts(self.point),
            gem5=gem5_of(self.gem5, self.release),
            process=process,
            container=self.engine,
            image=self.image.reference,
            mounts=mounts(self.gem5, [Path(self.dnnmark.build), self.data]),
            limits=limits or Limits(wall_seconds=60, grace_seconds=3),
            provenance=provenance(
                self.point,
                self.gem5,
                self.image,
                build=self.dnnmark,
                benchmark="test_fwd_softmax",
                database=self.database,
                data=self.data,
            ),
            launches=kernel_launches(self.point),
        )


@pytest.fixture(scope="module")
def site(docker_url: str, docker_image: str) -> Iterator[Site]:
    # Not below /tmp, as the real gem5 needs it.
    project = Path(tempfile.mkdtemp(prefix="apuflow-test-", dir="/var/tmp")) / "a project's dir"
    project.mkdir(parents=True)
    yield Site(project, docker_url, docker_image)
    shutil.rmtree(project.parent)


def test_a_run_in_a_container_is_proven_and_fully_described(site: Site) -> None:
    record = simulate(site.simulation())
    assert record.status is Status.COMPLETED
    made = record.provenance
    assert made.image_digest == site.image.digest
    assert str(made.image_digest).startswith("sha256:")
    assert (made.gem5_commit, made.gem5_binary_sha256) == (site.gem5.source.commit, site.gem5.sha256)
    assert made.dnnmark_sha256 == site.dnnmark.programs["test_fwd_softmax"]
    assert made.mmap_bytes == 409_600
    assert [launch.kernel for launch in record.launches] == ["SoftmaxForward"]
    assert not [path for path in site.project.rglob("*") if path.lstat().st_uid != site.project.stat().st_uid]


@pytest.mark.parametrize(
    ("behaviour", "status"),
    [
        ("panic", Status.GEM5_PANIC),
        ("deadlock", Status.DEADLOCK),
        ("fatal", Status.GEM5_FATAL),
        ("exit1", Status.GUEST_FAILURE),
        ("abort_zero", Status.GUEST_FAILURE),
        ("missing_kernel", Status.MISSING_KERNEL),
        ("segfault", Status.GEM5_CRASH),
        ("oom", Status.HOST_OUT_OF_MEMORY),
        ("hang", Status.TIMEOUT),
        ("cut_stats", Status.NO_STATISTICS),
    ],
)
def test_failures_are_named_the_same_as_without_a_container(
    site: Site, behaviour: str, status: Status
) -> None:
    binary = Path(site.gem5.binary)
    behave(binary, {"--cmd=dnnmark": behaviour})
    seconds = 1.0 if behaviour == "hang" else 60.0
    limits = Limits(memory_bytes=128 << 20, wall_seconds=seconds, grace_seconds=5)
    try:
        with pytest.raises(RunFailed) as caught:
            simulate(site.simulation(limits=limits))
    finally:
        behave(binary, {})
    assert caught.value.record.status is status


def test_a_kernel_database_that_is_not_there_is_a_missing_kernel(site: Site) -> None:
    with pytest.raises(RunFailed, match="missing_kernel") as caught:
        simulate(site.simulation(database=False))
    assert "apuflow kernels --add 'MIOpenSoftmax.cl, " in str(caught.value)


def test_an_unknown_option_is_a_configuration_error(site: Site) -> None:
    simulation = site.simulation()
    process = simulation.process
    changed = replace(process, options={**process.options, "no-such-option": 3})
    with pytest.raises(RunFailed, match="unrecognized arguments: --no-such-option=3"):
        simulate(replace(simulation, process=changed))


@pytest.fixture
def build(site: Site, tmp_path: Path, docker_image: str) -> Callable[[str], ImageRecord]:
    """Builds an image from a Dockerfile's text."""

    def build(text: str) -> ImageRecord:
        (tmp_path / "Dockerfile").write_text(text.replace("BASE", docker_image))
        log = tmp_path / "log"
        return resolved(site.engine, log, dockerfile=str(tmp_path))

    return build


def test_an_image_is_built_and_known_by_its_content(build: Callable[[str], ImageRecord]) -> None:
    first = build("FROM BASE\nRUN echo one > /one\n")
    assert first.reference == first.digest
    assert build("FROM BASE\nRUN echo one > /one\n") == first
    assert build("FROM BASE\nRUN echo two > /one\n").digest != first.digest


def test_a_build_that_fails_says_so(build: Callable[[str], ImageRecord], tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="non-zero code: 5"):
        build("FROM BASE\nRUN echo reason; exit 5\n")
    assert "reason" in (tmp_path / "log").read_text()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nonesuch-image:never", "no such image"),
        ("Not An Image", "not an image name"),
        ("--all", "not an image name"),
    ],
)
def test_a_wrong_image_name_is_said(site: Site, tmp_path: Path, name: str, message: str) -> None:
    with pytest.raises(ApuflowError, match=message):
        resolved(site.engine, tmp_path / "log", local=name)


def test_a_directory_without_a_dockerfile_is_said(site: Site, tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="no Dockerfile"):
        resolved(site.engine, tmp_path / "log", dockerfile=str(tmp_path))


def test_an_image_cannot_be_pulled_without_a_network(site: Site, tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="cannot ask the registry"):
        resolved(site.engine, tmp_path / "log", registry="nowhere.invalid/gcn-gpu:v22-1")


def test_another_content_than_the_pinned_one_is_refused(
    site: Site, tmp_path: Path, docker_image: str
) -> None:
    with pytest.raises(EngineError, match="the image has another digest"):
        resolved(site.engine, tmp_path / "log", local=docker_image, digest=f"sha256:{'0' * 64}")


def test_a_build_step_that_fails_ends_with_its_last_lines(site: Site) -> None:
    with pytest.raises(EngineError, match="Can't find a build_opts file for NOPE"):
        build_gem5(
            site.gem5.source,
            "NOPE",
            jobs=1,
            container=site.engine,
            image=site.image.reference,
            project=site.project,
            log=site.log("broken"),
        )


def test_a_setup_that_leaves_no_makefile_is_seen(site: Site, tmp_path: Path) -> None:
    upstream = make_resources(tmp_path / "resources")
    source = fetch_source(str(upstream.path), upstream.commit, site.project / "sources/broken")
    (Path(source.path) / "src/gpu/DNNMark/cmake_fails").touch()
    with pytest.raises(EngineError, match="configuring DNNMark failed"):
        build_dnnmark(
            source,
            jobs=1,
            container=site.engine,
            image=site.image.reference,
            project=site.project,
            log=site.log("broken"),
        )
