"""Orchestration: the cost of a run beyond the start of its container; the data file against upstream's.

    .venv/bin/python benchmarks/bench_orchestration.py [--repeat N] [--socket URL --image NAME] [--dnnmark D]

Overhead: `simulate` of a program that ends at once (the stand-in gem5 of tests/standins) against the same
command in a bare container (`docker run` with the same mounts) or, without a daemon, as a bare process. It
compares medians of alternating runs. Data file: `write_mmap` of 2 GiB against upstream's
generate_rand_data.cpp (--dnnmark: its directory; compiled as its Makefile does), alternating, in one place.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import median

from measuring import ROOT, parser, timed

from apuflow.configure.image_source import ImageSource
from apuflow.containers.docker import DockerEngine
from apuflow.containers.host import HostEngine
from apuflow.containers.job import ContainerEngine, Limits, Mount
from apuflow.prepare.data_file import write_mmap
from apuflow.prepare.images import ImagePlan, first_image
from apuflow.run.attempt import prepare, simulate
from apuflow.run.command import Gem5, Guest
from apuflow.run.outcome import Expectation
from apuflow.run.process import PointFacts, Process, Simulation

sys.path.insert(0, str(ROOT / "tests"))
from standins.repositories import make_gem5

ALLOWED_SECONDS = 1.0
WANTED_RATIO = 5.0


def main() -> None:
    command = parser(__doc__, repeat=5)
    command.add_argument("--socket", default=os.environ.get("DOCKER_HOST"))
    command.add_argument("--image", help="an image with python3 that the daemon has")
    command.add_argument("--dnnmark", type=Path, help="gem5-resources' src/gpu/DNNMark")
    given = command.parse_args()
    with tempfile.TemporaryDirectory(dir="/var/tmp") as directory:
        overhead(Path(directory), HostEngine(), None, given.repeat)
        if given.socket and given.image:
            overhead(Path(directory), DockerEngine("docker", given.socket), given.image, given.repeat)
        if given.dnnmark:
            data_file(Path(directory), given.dnnmark, max(1, given.repeat // 2))


def overhead(directory: Path, engine: ContainerEngine, image: str | None, repeat: int) -> None:
    """Seconds of `simulate` beyond the same bare command."""
    made = simulation(directory / engine.name, engine, image)
    ours, bare = [], []
    for number in range(repeat + 1):
        run = replace(made, run_dir=made.run_dir.with_name(f"u4-{number}"))
        ours.append(timed(partial(simulate, run)))
        bare.append(timed(partial(start_barely, made, number)))
    run_seconds, bare_seconds = median(ours[1:]), median(bare[1:])
    extra = run_seconds - bare_seconds
    print(
        f"{engine.name}: run {run_seconds:.3f} s, bare {bare_seconds:.3f} s, "
        f"overhead {extra:.3f} s ({extra / ALLOWED_SECONDS:.2f} of the allowed {ALLOWED_SECONDS:g} s)"
    )


def simulation(project: Path, engine: ContainerEngine, image: str | None) -> Simulation:
    root = make_gem5(project / "gem5").path
    build = [sys.executable, "SConstruct", "build/GCN3_X86/gem5.opt"]
    subprocess.run(build, cwd=root, check=True, stdout=subprocess.DEVNULL)
    programs = project / "programs"
    programs.mkdir()
    (programs / "ok").write_text("#!program\nall is well\n")
    options: dict[str, int | str] = {"num-compute-units": 4, "gfx-version": "gfx801"}
    guest = Guest(programs, "ok")
    sources = () if image is None else (ImageSource(local=image),)
    reference = first_image(engine, ImagePlan(sources, project / "log"))[0].reference
    return Simulation(
        project=project,
        run_dir=project / "runs/gem5/demo/u4",
        point=PointFacts("gem5", "demo", None, "u4-0123abcd", {}, {}, options, "gfx801", "v23.0"),
        gem5=Gem5(root / "build/GCN3_X86/gem5.opt", root / "configs/example/apu_se.py"),
        process=Process(guest, options, Expectation(end_marker="all is well")),
        container=engine,
        image=reference,
        mounts=(Mount(root), Mount(programs)),
        limits=Limits(wall_seconds=60),
    )


def start_barely(made: Simulation, number: int) -> None:
    """The same gem5 command alone: `docker run --rm`, or a plain process."""
    directory = made.project / f"bare/{number}"
    command = list(prepare(made, directory))
    if isinstance(made.container, DockerEngine):
        client = ["docker", "-H", str(made.container.address), "run", "--rm", "--network=none"]
        client += [f"-v={path}:{path}" for path in (*(mount.path for mount in made.mounts), directory)]
        client += [f"-w={directory}", f"--entrypoint={command[0]}", str(made.image)]
        command = [*client, *command[1:]]
    subprocess.run(command, cwd=directory, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def data_file(directory: Path, dnnmark: Path, repeat: int) -> None:
    """2 GiB of floats: ours against upstream's generator."""
    shutil.copy(dnnmark / "generate_rand_data.cpp", directory)
    build = ["g++", "-std=c++14", "-g", "generate_rand_data.cpp", "-o", "generate_rand_data"]
    subprocess.run(build, cwd=directory, check=True)
    ratios = []
    for _ in range(repeat):
        upstream = timed(lambda: subprocess.run(["./generate_rand_data"], cwd=directory, check=True))
        (directory / "mmap.bin").unlink()
        os.sync()
        ours = timed(lambda: write_mmap(directory / "ours.bin", 2 << 30))
        (directory / "ours.bin").unlink()
        os.sync()
        ratios.append(upstream / ours)
        print(f"data file of 2 GiB: upstream {upstream:.2f} s, ours {ours:.2f} s, ratio {ratios[-1]:.1f}")
    print(f"data file: {median(ratios):.1f} times as fast as upstream's (wanted: {WANTED_RATIO:g})")


if __name__ == "__main__":
    main()
