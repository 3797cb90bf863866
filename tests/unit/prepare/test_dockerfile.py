"""Upstream's Dockerfile, repaired in a copy: what is changed, what is recorded, what is refused."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml
from standins.repositories import commit, git
from sweep_texts import HEAD

from apuflow.configure import load_release, load_site, load_sweep
from apuflow.core.errors import ConfigError, EngineError
from apuflow.engines.simulated import provenance
from apuflow.plan.points import points
from apuflow.prepare.builds import Gem5Record
from apuflow.prepare.images import ImageRecord, lock, locked_source
from apuflow.prepare.recipes import DockerfileBuild, DockerfileRecord, repaired_context
from apuflow.prepare.requests import request
from apuflow.prepare.sources import SourceRecord

DIRECTORY = "util/dockerfiles/gcn-gpu"
BEFORE = "FROM ubuntu:20.04\nRUN apt -y install gcc-10\nRUN wget a/v22-1/x.patch\nRUN wget a/v22-1/y\n"
GFORTRAN = {"name": "gfortran", "why": "#1967", "after": "gcc-10", "insert": " gfortran"}
ADDRESS = {"name": "address", "why": "gone", "replace": "v22-1/x.patch", "with": "develop/x.patch"}
NOTE = {"name": "note", "why": "shown", "file": "etc/note", "pattern": "o(.)e", "with": r"\1"}


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A git repository with a Dockerfile where gem5 has its own, and a file for its context."""
    place = tmp_path / "gem5" / DIRECTORY
    (place / "etc").mkdir(parents=True)
    (place / "Dockerfile").write_text(BEFORE)
    (place / "etc/note").write_text("one\n")
    commit(tmp_path / "gem5")
    return tmp_path / "gem5"


def build(root: Path, checkout: Path, *repairs: Mapping[str, object]) -> DockerfileBuild:
    """A release file with these repairs, and what it builds its image from."""
    file = root / "configs/gem5/v24.0.yaml"
    release = yaml.safe_load(file.read_text())
    release["image"] = {"sources": [{"dockerfile": DIRECTORY, "repairs": list(repairs)}]}
    file.write_text(yaml.safe_dump(release, sort_keys=False))
    repaired = load_release("v24.0", root).image.sources[0].repairs
    return DockerfileBuild(checkout, "0123456789abcdef0123456789abcdef01234567", repaired, file)


def test_repairs_change_a_copy_in_their_order_and_never_the_checkout(root: Path, checkout: Path) -> None:
    again = {"name": "again", "why": "order", "replace": "gcc-10 gfortran", "with": "gcc-10 g++-10 gfortran"}
    copy = root / "copy"
    record = repaired_context(build(root, checkout, GFORTRAN, again, ADDRESS, NOTE), DIRECTORY, copy)
    expected = (
        "FROM ubuntu:20.04\nRUN apt -y install gcc-10 g++-10 gfortran\n"
        "RUN wget a/develop/x.patch\nRUN wget a/v22-1/y\n"
    )
    assert (copy / "Dockerfile").read_text() == record.text == expected
    assert (copy / "etc/note").read_text() == "n\n"
    assert record.repairs == ("gfortran", "again", "address", "note")
    assert record.sha256 == {
        "Dockerfile": hashlib.sha256(expected.encode()).hexdigest(),
        "etc/note": hashlib.sha256(b"n\n").hexdigest(),
    }
    assert git(checkout, "status", "--porcelain") == ""


@pytest.mark.parametrize(
    ("repair", "message", "fix"),
    [
        ({**ADDRESS, "replace": "v21-2"}, "has its text nowhere, not once", "if upstream has mended this"),
        ({**ADDRESS, "replace": "v22-1"}, "has its text 2 times, not once", "say times: 2"),
        ({**ADDRESS, "times": 2}, "has its text once, not 2 times", "say times: 1"),
        (
            {**NOTE, "pattern": "^two", "with": "x"},
            "etc/note of gem5 0123456789ab has its text nowhere",
            "etc/note",
        ),
        ({**ADDRESS, "file": "etc/notes"}, "a text file that is not there", "correct the file"),
    ],
)
def test_a_repair_that_does_not_match_is_named_with_its_line(
    root: Path, checkout: Path, repair: Mapping[str, object], message: str, fix: str
) -> None:
    made = build(root, checkout, GFORTRAN, repair)
    with pytest.raises(ConfigError) as caught:
        repaired_context(made, DIRECTORY, root / "copy")
    text = str(caught.value)
    assert message in text and fix in text.replace("that file", "etc/note")
    assert f"the repair {repair['name']} " in text
    place, _, line = str(caught.value.file).rpartition(":")
    key = str(caught.value.key).removeprefix("image.sources[0].repairs[1].")
    assert place == str(made.file)
    assert Path(place).read_text().splitlines()[int(line) - 1].strip().startswith(f"{key}: ")


def test_a_file_outside_of_the_directory_is_not_written(root: Path, checkout: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("one\n")
    note = checkout / DIRECTORY / "etc/note"
    note.unlink()
    note.symlink_to(outside)
    with pytest.raises(ConfigError, match="not there"):
        repaired_context(build(root, checkout, NOTE), DIRECTORY, root / "copy")
    assert outside.read_text() == "one\n"


def test_a_directory_without_a_dockerfile_is_said(root: Path, checkout: Path) -> None:
    with pytest.raises(EngineError, match="no Dockerfile"):
        repaired_context(build(root, checkout, GFORTRAN), "util", root / "copy")


def test_another_repair_is_another_image_and_another_reason_is_not(root: Path, checkout: Path) -> None:
    def wanted(*repairs: Mapping[str, object]) -> tuple[str, str]:
        build(root, checkout, *repairs)
        release, site = load_release("v24.0", root), load_site(root)
        return request("image", release, site, root), request("dnnmark", release, site, root)

    plain = wanted()
    repaired = wanted(GFORTRAN)
    other = wanted({**GFORTRAN, "insert": " gfortran-10"})
    assert all(len(set(tools)) == 3 for tools in zip(plain, repaired, other, strict=True))
    assert wanted({**GFORTRAN, "why": "said better"}) == repaired


def test_a_lock_keeps_the_commit_of_a_dockerfile_and_takes_the_repairs_of_today(root: Path) -> None:
    release, site = load_release("v23.0", root), load_site(root)
    source = release.image.sources[-1]
    lock("v23.0", source, None, root)
    locked = yaml.safe_load((root / "images.lock.yaml").read_text())["images"]["v23.0"]
    assert locked == {"dockerfile": DIRECTORY, "commit": source.commit}
    assert locked_source(site, release, root) == source and source.repairs
    file = root / "configs/gem5/v23.0.yaml"
    file.write_text(file.read_text().replace(str(source.commit), "a" * 40))
    assert locked_source(site, load_release("v23.0", root), root) is None


def test_a_row_says_what_its_image_was_built_from(root: Path) -> None:
    (root / "configs/sweeps/k.yaml").write_text(HEAD.replace("preview", "gem5-kernels"))
    point = points(load_sweep("k", root), "softmax_fwd", root)[0]
    built = DockerfileRecord(
        directory=DIRECTORY, commit="0" * 40, repairs=("a", "b"), sha256={"Dockerfile": "12ab"}, text=BEFORE
    )
    image = ImageRecord(
        engine="docker", kind="dockerfile", name="d", reference="r", digest="d", dockerfile=built
    )
    gem5 = Gem5Record(
        binary="b", sha256="s", script="s", target="t", source=SourceRecord(path=".", commit="c")
    )
    assert provenance(point, gem5, image).notes == (
        f"image built from {DIRECTORY}/Dockerfile of gem5 000000000000 (sha256 12ab), repairs a, b",
    )


def test_gcn3_releases_build_v24_0s_dockerfile_with_their_own_gpus(root: Path) -> None:
    """Their rocBLAS is for the GPUs that upstream's image of v22.1 had: gem5 5fa484e2e, line 107 of it."""
    for name in ("v21.1", "v21.2", "v22.0", "v22.1", "v23.0", "v23.1"):
        source = load_release(name, root).image.sources[-1]
        assert source.commit == load_release("v24.0", root).gem5.commit
        after = {repair.name: repair.with_ for repair in source.repairs}
        assert after["rocblas-gpus"] == "ENV HCC_AMDGPU_TARGET=gfx801,gfx803,gfx900,gfx902"
    assert load_release("v24.0", root).image.sources[-1].is_of_the_gem5_that_runs
