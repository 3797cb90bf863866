"""Apptainer, with a stand-in of its tool."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from apuflow.configure.image_source import ImageSource
from apuflow.containers.host import ApptainerEngine
from apuflow.containers.job import Job, Limits
from apuflow.core.errors import EngineError
from apuflow.prepare.images import ImagePlan, ImageRecord, resolve_image


def test_apptainers_command_line(job: Callable[..., Job], tmp_path: Path) -> None:
    from apuflow.containers.job import Mount

    mounts = (Mount(tmp_path, True), Mount(Path("/g em5")))
    made = job("gem5.opt", "-r", image="/images/gcn.sif", mounts=mounts, env={"A": "$b `c`"})
    words = ApptainerEngine("/usr/bin/apptainer").command(made)
    assert words[:3] == ("/usr/bin/apptainer", "--silent", "exec")
    assert {"--containall", "--cleanenv", "--no-privs"} <= set(words)
    assert words[words.index("--network") + 1] == "none"
    binds = [words[i + 1] for i, word in enumerate(words) if word == "--bind"]
    assert binds == [f"{tmp_path}:{tmp_path}:rw", "/g em5:/g em5:ro"]
    at = words.index("/images/gcn.sif")
    assert words[at - 2 : at] == ("--pwd", str(tmp_path))
    assert words[at + 1] == "/usr/bin/env" and words[-2:] == ("gem5.opt", "-r")
    # A shell of Apptainer unfolds what stands in its --env.
    assert {f"HOME={tmp_path / 'home'}", "A=$b `c`"} <= set(words[at + 2 : -2]) and "--env" not in words
    odd = replace(made, mounts=(Mount(Path("/a,b")),))
    with pytest.raises(EngineError, match="comma or colon"):
        ApptainerEngine("/usr/bin/apptainer").command(odd)


def test_apptainer_runs_through_its_tool(job: Callable[..., Job], tmp_path: Path) -> None:
    """With a stand-in of the tool that runs the command as it is: exit, log and limits are ours."""
    tool = tmp_path / "apptainer"
    tool.write_text('#!/bin/sh\nwhile [ "$1" != x.sif ]; do shift; done\nshift\nexec "$@"\n')
    tool.chmod(0o755)
    engine = ApptainerEngine(str(tool))
    assert engine.run(job("sh", "-c", "echo $HOME; exit 5", image="x.sif")).code == 5
    assert (tmp_path / "log").read_text() == f"{tmp_path / 'home'}\n"
    hang = job("sleep", "60", image="x.sif", limits=Limits(wall_seconds=1, grace_seconds=10))
    assert engine.run(hang).stopped == "wall"


def test_an_apptainer_image_is_there_whole_or_not_at_all(tmp_path: Path) -> None:
    tool, images, log = tmp_path / "apptainer", tmp_path / "images", tmp_path / "pull.log"
    engine = ApptainerEngine(str(tool))

    def pull() -> ImageRecord:
        source = ImageSource(registry="ghcr.io/gem5/gcn-gpu:v22")
        return resolve_image(engine, source, ImagePlan((source,), log, directory=images))

    tool.write_text('#!/bin/sh\nprintf half > "$3"\necho no network\nexit 1\n')
    tool.chmod(0o755)
    with pytest.raises(EngineError, match="cannot pull docker://"):
        pull()
    assert list(images.iterdir()) == [] and "no network" in log.read_text()
    tool.write_text('#!/bin/sh\nprintf image > "$3"\n')
    image = images / "ghcr.io_gem5_gcn-gpu_v22.sif"
    assert pull().reference == str(image)
    assert list(images.iterdir()) == [image] and image.read_text() == "image"


def test_an_absent_apptainer_says_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(EngineError, match="Apptainer is not on this machine"):
        ApptainerEngine().check()
