"""How gem5 is compiled: what scons is given, and what it is part of."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import needs
import pytest
from scons_builds import Recorder, built
from sweep_texts import HEAD

from apuflow.configure import load_release, load_site, load_sweep, release_names
from apuflow.configure.gem5_build import Build
from apuflow.containers.job import Exit, Job
from apuflow.core.errors import ConfigError, EngineError
from apuflow.plan.points import points
from apuflow.prepare import stages
from apuflow.prepare.builds import Gem5Record
from apuflow.prepare.records import write_record
from apuflow.prepare.sources import SourceRecord
from apuflow.prepare.tools import Toolset

BUILDS: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "upstream": ({}, ()),
    "fast": ({"variant": "fast"}, ()),
    "lto": ({"lto": True}, ("--with-lto",)),
    "system": ({"allocator": "system"}, ("--without-tcmalloc",)),
    "mimalloc": (
        {"allocator": "mimalloc"},
        ("--without-tcmalloc", "LINK=-Wl,--no-as-needed -lmimalloc -Wl,--as-needed"),
    ),
    "flags": ({"flags": ("-O3", "-g0")}, ("CCFLAGS_EXTRA=-O3 -g0",)),
    "generate": (
        {"pgo": "generate"},
        ("CCFLAGS_EXTRA=-fprofile-generate=/p -fprofile-update=prefer-atomic", "LINK=-fprofile-generate=/p"),
    ),
    "use": (
        {"pgo": "use", "lto": True, "flags": ("-O3",)},
        (
            "--with-lto",
            "CCFLAGS_EXTRA=-O3 -fprofile-use=/p -Wno-missing-profile -Wno-coverage-mismatch",
            "LINK=-fprofile-use=/p",
        ),
    ),
}


@pytest.mark.parametrize("name", BUILDS)
def test_arguments_of_scons(name: str) -> None:
    keys, wanted = BUILDS[name]
    build = Build(**keys)
    assert build.arguments("LINK", "/p") == wanted
    assert build.default == (not keys) == (not build.tree)


def test_builds_have_trees_of_their_own_but_both_steps_of_a_profile_share_one() -> None:
    """A profile belongs to the paths of its objects (GCC's -fprofile-use)."""
    trees = {name: Build(**keys).tree for name, (keys, _) in BUILDS.items()}
    assert len(set(trees.values())) == len(trees)
    assert Build(pgo="generate").tree == Build(pgo="use").tree != Build(pgo="use", lto=True).tree


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("gem5: {build: {variant: perf}}", "opt"),
        ("gem5: {build: {flags: ['-O3 -g0']}}", "not a flag of a compiler"),
        ("gem5: {build: {flags: [O3]}}", "not a flag of a compiler"),
        ("gem5: {build: {lto: true}, scons: ['CCFLAGS_EXTRA=-O1']}", "build sets this variable"),
        ("gem5: {build: {lto: true}, binary: b, source: .}", "build has no part in a gem5"),
        ("gem5: {build: {lto: true, speed: 9}}", "unknown key"),
        ("gem5: {build: {lto: true, quick_pipeline: true}}", "inlines the calls"),
    ],
)
def test_what_cannot_be_built_is_refused(root: Path, text: str, said: str) -> None:
    (root / "configs/site.yaml").write_text(f"{text}\n")
    with pytest.raises(ConfigError, match=said):
        load_site(root)


def test_another_build_is_another_gem5_and_upstreams_is_what_it_was(root: Path) -> None:
    (root / "configs/sweeps/k.yaml").write_text(HEAD.replace("preview", "gem5-kernels"))
    seen = []
    for keys in ("{scons: []}", "{build: {allocator: tcmalloc, lto: false}}", "{build: {variant: fast}}"):
        (root / "configs/site.yaml").write_text(f"gem5: {keys}\n")
        record = Toolset("v23.0", root).record("gem5-GCN3_X86")
        seen.append((record, points(load_sweep("k", root), "softmax_fwd", root)[0].id))
    assert seen[0] == seen[1]
    assert seen[0][0] != seen[2][0] and seen[0][1] != seen[2][1]
    (root / "configs/site.yaml").unlink()
    release = root / "configs/gem5/v23.0.yaml"
    release.write_text(release.read_text().replace("gem5:\n  url", "gem5:\n  build: {variant: fast}\n  url"))
    assert points(load_sweep("k", root), "softmax_fwd", root)[0].id == seen[2][1]


def test_the_variable_for_the_linker_by_release(root: Path) -> None:
    """``LDFLAGS_EXTRA`` became ``LINKFLAGS_EXTRA`` in v21.2 (SConstruct)."""
    names = {name: load_release(name, root).capabilities.linker_flags for name in release_names(root)}
    assert names.pop("v21.1") == "LDFLAGS_EXTRA"
    assert set(names.values()) == {"LINKFLAGS_EXTRA"}


def test_the_goal_of_scons(tmp_path: Path) -> None:
    made: dict[str, Gem5Record] = {}
    for name in ("upstream", "fast", "use"):
        made[name], engine = built(tmp_path, Build(**BUILDS[name][0]), "GCN3_X86")
        assert engine.command[0] == "scons" and "-j2" in engine.command
    assert made["upstream"].binary == f"{tmp_path}/build/GCN3_X86/gem5.opt"
    tree = Build(variant="fast").tree
    assert made["fast"].binary == f"{tmp_path}/{tree}/build/GCN3_X86/gem5.fast"
    profile = f"{tmp_path}/{Build(**BUILDS['use'][0]).tree}/profile-GCN3_X86"
    assert f"LINKFLAGS_EXTRA=-fprofile-use={profile}" in made["use"].arguments


def test_flags_reach_a_gem5_that_reads_them_from_the_environment(tmp_path: Path) -> None:
    """``site_scons/gem5_scons/defaults.py``, v22.0 and later: one on the command line is not read."""
    build = Build(pgo="use", flags=("-O3", "-g0"))
    _, engine = built(tmp_path, build, arguments=("--linker=gold", "CXX=g++-12"))
    assert engine.environment.pop("CCFLAGS_EXTRA").startswith("-O3 -g0 -fprofile-use=")
    assert engine.environment.pop("LINKFLAGS_EXTRA").startswith("-fprofile-use=")
    assert engine.environment == {"CXX": "g++-12"}


def test_a_profile_needs_a_gem5_that_may_write(root: Path) -> None:
    (root / "configs/site.yaml").write_text("gem5: {build: {pgo: generate}}\n")
    tools = Toolset("v23.0", root)
    record = SourceRecord(path=str(root), commit="0" * 40)
    write_record(root / tools.record("source-gem5"), record)
    with pytest.raises((ConfigError, EngineError), match="which a container does not permit"):
        stages.gem5(tools, "GCN3_X86", root / "out.json", root / "log", jobs=1)


@pytest.mark.gem5
@pytest.mark.skipif("APUFLOW_TEST_GEM5" not in os.environ, reason=needs.GEM5.reason)
def test_gem5s_own_sconstruct_takes_what_it_is_given() -> None:
    sources = Path(os.environ["APUFLOW_TEST_GEM5"]).resolve().parents[2]
    text = (sources / "SConstruct").read_text()
    options = set(re.findall(r"AddOption\(\s*['\"](--[\w-]+)", text))
    variables = set(re.findall(r"\w+FLAGS_EXTRA", text))
    for keys, _ in BUILDS.values():
        for argument in Build(**keys).arguments("LINKFLAGS_EXTRA", "/p"):
            name = argument.partition("=")[0]
            assert name in (options if name.startswith("--") else variables)
    for variant in ("opt", "fast", "debug"):
        assert re.search(rf"['\"]{variant}['\"]", (sources / "src/SConscript").read_text())


SOFTFLOAT = """\
Checking for linker -Wno-free-nonheap-object support... In file included from ext/softfloat/internals.h:43,
                 from ext/softfloat/s_mulAddF64.c:40:
ext/softfloat/primitives.h:530:17: error: 'sig128C.v64' may be used uninitialized [-Werror]
cc1: all warnings being treated as errors
no
scons: done reading SConscript files.
scons: Building targets ...
scons: done building targets.
"""
"""What scons printed, shortened, for gem5's develop of October 2024 with ``-O1``; it ended with status 0."""


@pytest.mark.parametrize("log", ["scons: done building targets.\n", SOFTFLOAT])
def test_a_build_without_an_error_and_without_a_program_says_what_its_log_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, log: str
) -> None:
    def run(_self: Recorder, job: Job) -> Exit:
        job.log.write_text(log, encoding="utf-8")
        return Exit(code=0, seconds=1.0)

    monkeypatch.setattr(Recorder, "run", run)
    with pytest.raises(EngineError) as caught:
        built(tmp_path / "gem5", Build(quick_pipeline=False))
    assert str(tmp_path / "gem5.log") in str(caught.value)
    assert ("'sig128C.v64' may be used uninitialized" in str(caught.value)) == (log == SOFTFLOAT)
