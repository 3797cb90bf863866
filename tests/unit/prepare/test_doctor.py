"""What doctor says of a machine."""

from __future__ import annotations

import _ctypes
import os
from pathlib import Path

import pytest
from places import ROOT
from standins.repositories import commit, git

from apuflow.commands.doctor import next_command
from apuflow.configure import Release, Site, load_release, load_sweep
from apuflow.configure.site import Gem5Build, Image, Mirrors
from apuflow.containers import found
from apuflow.core import paths
from apuflow.core.errors import EngineError
from apuflow.prepare.builds import allocates_slowly, starts
from apuflow.prepare.doctor import Check, State, Use, check_gem5_ready, examine, ready


@pytest.fixture
def release() -> Release:
    return load_release("v23.0", ROOT)


@pytest.fixture
def nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Site:
    """A machine without a container engine."""
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    return Site(socket=str(tmp_path / "no.sock"))


def test_a_bare_machine_gets_one_message_with_every_fix_and_what_runs(
    nothing: Site, release: Release, tmp_path: Path
) -> None:
    with pytest.raises(EngineError) as caught:
        check_gem5_ready(nothing, release, tmp_path)
    text = str(caught.value)
    assert "no Docker engine on this machine" in text
    assert "install docker" in text
    assert "results/quickstart/softmax_fwd.csv" in text
    assert text.count("  1. ") == 1
    assert "Traceback" not in text


def test_what_is_missing_is_told_per_engine(nothing: Site, release: Release, tmp_path: Path) -> None:
    checks = examine(nothing, release, tmp_path, network=False)
    assert ready(checks, Use.PREVIEW)
    assert not ready(checks, Use.DNNMARK)
    for check in checks:
        assert check.fix is not None or check.state is State.OK
    names = [check.name for check in checks]
    assert len(names) == len(set(names))


def test_a_project_that_gem5s_guest_cannot_see_is_refused_before_anything_is_made(
    release: Release, tmp_path: Path
) -> None:
    """apu_se.py gives the guest a /tmp of its own; runs may be a link to another place."""
    site = Site(container="host")
    (tmp_path / "runs").symlink_to("/tmp/elsewhere")
    with pytest.raises(EngineError, match=r"cannot read files below /tmp.*\n.*move the project"):
        check_gem5_ready(site, release, tmp_path, use=Use.KERNELS)
    (tmp_path / "runs").unlink()
    (tmp_path / "runs").symlink_to("/var/lib/somewhere")
    names = {check.name: check for check in examine(site, release, tmp_path, network=False)}
    assert names["place of runs"].state is State.OK


def test_a_home_that_snakemake_cannot_use_is_named(
    release: Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Snakemake 9 ends in a traceback without a home, and where it cannot write ~/.cache."""

    def home() -> Check:
        return next(
            c for c in examine(Site(container="host"), release, tmp_path, network=False) if c.name == "home"
        )

    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert home().state is State.OK
    monkeypatch.setenv("HOME", "/proc/1")
    assert home().state is State.MISSING and "/proc/1/.cache" in home().detail
    monkeypatch.setattr("pwd.getpwuid", {}.__getitem__)
    monkeypatch.delenv("HOME")
    assert "no passwd entry" in home().detail and "export HOME" in str(home().fix)
    assert next_command("v23.0", tmp_path, dnnmark=False, kernels=False, preview=False).startswith(
        "apuflow ask"
    )


def test_dnnmarks_tools_are_asked_only_where_dnnmark_runs(release: Release, tmp_path: Path) -> None:
    """A program of one's own needs gem5 and nothing that compiles DNNMark."""
    mirrors = Mirrors(gem5_resources=f"file://{tmp_path}/nowhere")
    checks = examine(Site(container="host", mirrors=mirrors), release, tmp_path, network=True)
    [dnnmark] = [check for check in checks if check.name == "DNNMark sources"]
    assert dnnmark.state is State.MISSING and dnnmark.uses == ("gem5",)
    [scons] = [check for check in checks if check.name == "scons"]
    assert set(scons.uses) == {"gem5", "gem5-kernels", "command"}


def test_a_gem5_that_answers_slowly_is_there(tmp_path: Path) -> None:
    """A machine busy with other runs takes minutes for it."""
    slow, broken = tmp_path / "slow", tmp_path / "broken"
    for file, line in ((slow, "exec sleep 60"), (broken, "echo libpng.so: not found >&2; exit 127")):
        file.write_text(f"#!/bin/sh\n{line}\n")
        file.chmod(0o755)
    assert starts(slow, seconds=0.01) is None
    assert starts(broken) == "libpng.so: not found"


def test_a_gem5_that_allocates_slowly_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LD_PRELOAD", raising=False)
    assert allocates_slowly(Path("/bin/ls"))
    script = tmp_path / "script"
    script.write_text("#!/bin/sh\n")
    assert not allocates_slowly(script)
    library = tmp_path / "libtcmalloc_minimal.so.4"
    library.symlink_to(_ctypes.__file__)
    monkeypatch.setenv("LD_PRELOAD", str(library))
    assert not allocates_slowly(Path("/bin/ls"))


def test_a_gem5_of_ones_own_is_examined(release: Release, tmp_path: Path) -> None:
    site = Site(
        container="host", gem5=Gem5Build(binary=str(tmp_path / "gem5.opt"), source=str(tmp_path / "gem5"))
    )
    [check] = [check for check in examine(site, release, tmp_path, network=False) if "yours" in check.name]
    assert check.state is State.MISSING
    assert "no such source directory" in check.detail


def test_a_source_that_does_not_answer_is_missing(release: Release, tmp_path: Path) -> None:
    mirrors = Mirrors(gem5=f"file://{tmp_path}/nowhere", gem5_resources=str(tmp_path))
    checks = {
        check.name: check for check in examine(Site(container="host", mirrors=mirrors), release, tmp_path)
    }
    assert checks["gem5 sources"].state is State.MISSING
    assert "mirrors" in str(checks["gem5 sources"].fix)
    assert checks["DNNMark sources"].state is State.OK


def test_a_checkout_that_was_made_here_needs_no_network(release: Release, tmp_path: Path) -> None:
    nowhere = f"file://{tmp_path}/nowhere"
    site = Site(container="host", mirrors=Mirrors(gem5=nowhere, gem5_resources=nowhere, miopen=nowhere))

    def states() -> dict[str, State]:
        found = examine(site, release, tmp_path)
        return {check.name: check.state for check in found if check.name.endswith(" sources")}

    assert states() == dict.fromkeys(("gem5 sources", "DNNMark sources", "MIOpen sources"), State.MISSING)
    (tmp_path / paths.source_dir("miopen", release.miopen.source.commit)).mkdir(parents=True)
    assert states()["MIOpen sources"] is State.OK


def test_the_engine_that_was_found_is_told_with_what_was_passed_over(
    release: Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(found.DECIDED, '{"name": "host", "passed": {"docker": "nothing listens"}}')
    checks = {check.name: check for check in examine(Site(), release, tmp_path, network=False)}
    assert checks["container engine"].detail == (
        "none, the tools of this machine are used; not docker: nothing listens; `container` in "
        "configs/site.yaml names another"
    )
    assert "scons" in checks
    found.find_engine.cache_clear()
    monkeypatch.setenv(found.DECIDED, '{"name": "docker", "passed": {"podman": "is dead"}, "usable": false}')
    checks = {check.name: check for check in examine(Site(), release, tmp_path, network=True)}
    assert checks["container engine"].state is State.MISSING
    assert "podman: is dead" in checks["container engine"].detail
    assert "image" not in checks, "nobody can be asked for it"


def test_the_command_that_runs_now_is_the_largest_that_needs_nothing_more(tmp_path: Path) -> None:
    """A machine with gem5 alone; with kernels alone; with neither; and another release than the sweeps'."""
    (tmp_path / "configs").symlink_to(ROOT / "configs")
    release = load_sweep("default", ROOT).release
    cores = f"snakemake --cores {len(os.sched_getaffinity(0))}"
    quickstart = f"{cores} results/quickstart/report.html"
    for name, dnnmark, kernels, command in (
        (release, True, True, f"{cores} results/softmax_fwd.csv"),
        (release, False, True, f"{cores} results/kernels/report.html"),
        (release, False, False, quickstart),
        ("v24.1", True, True, "apuflow doctor --prove gem5-kernels --release v24.1"),
        ("v25.1", True, True, quickstart),
    ):
        assert next_command(name, tmp_path, dnnmark=dnnmark, kernels=kernels) == command


def test_sources_of_rocblas_are_asked_for_only_where_its_kernels_run(
    release: Release, tmp_path: Path
) -> None:
    names = ("rocBLAS sources", "Tensile sources")
    site = Site(container="host", rocblas_source=str(tmp_path), tensile_source=str(tmp_path / "no"))
    alone = site.model_copy(update={"products": "stand-in"})
    assert not {check.name for check in examine(alone, release, tmp_path, network=False)} & set(names)
    changed = Image(rocblas_kernels="changed")
    for update, use in (({"products": "rocblas"}, Use.KERNELS), ({"image": changed}, Use.DNNMARK)):
        own = alone.model_copy(update=update)
        checks = {check.name: check for check in examine(own, release, tmp_path, network=False)}
        assert [checks[name].state for name in names] == [State.MISSING, State.MISSING]
        assert "not a git checkout" in checks[names[0]].detail
        assert "allow_dirty" not in str(checks[names[0]].fix)  # there is no such key for these
        assert checks[names[1]].uses == (use,)
        assert checks[names[1]].fix is not None


def test_sources_of_rocblas_are_ready_at_their_commit_and_unchanged(
    release: Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the stage demands it before a kernel is written: a checkout that is merely there is not enough."""
    place = tmp_path / "tensile"
    place.mkdir()
    (place / "file").write_text("as pinned")
    pinned = commit(place)
    git(place, "commit", "--quiet", "--allow-empty", "--message", "moved on")
    site = Site(container="host", products="rocblas", tensile_source="tensile")  # below the project

    def tensile() -> Check:
        checks = examine(site, release, tmp_path, network=False)
        return next(check for check in checks if check.name == "Tensile sources")

    monkeypatch.setattr("apuflow.prepare.sources.TENSILE_COMMIT", pinned)
    found = tensile()
    assert found.state is State.MISSING and "the checkout is at" in found.detail
    assert f"checkout {pinned}" in str(found.fix)
    git(place, "checkout", "--quiet", pinned)
    assert tensile().state is State.OK
    (place / "file").write_text("changed")
    found = tensile()
    assert found.state is State.MISSING and "uncommitted changes" in found.detail
    assert str(found.fix).endswith("stash")
