"""What this machine's site.yaml says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from places import ROOT
from sweep_texts import HEAD

from apuflow.configure import (
    load_site,
    load_sweep,
)
from apuflow.containers import found
from apuflow.core.errors import ConfigError
from apuflow.plan.points import points
from apuflow.prepare.tools import Toolset


def test_site_is_optional_and_checked(root: Path) -> None:
    assert load_site(root).container_engine == "docker"
    path = root / "configs/site.yaml"
    for text, said in (
        ("container: kubernetes\n", "docker"),
        ("gem5: {binary: /x/gem5.opt}\n", "add source"),
        ("image: {mode: local}\n", "needs a name"),
        ("mirror: {}\n", "did you mean mirrors?"),
        ("memory: 16 GB\n", "512MB, 16GB"),
        ("gem5: {scons: [build/X86/gem5.opt]}\n", "scons this argument itself: build/X86/gem5.opt"),
        ("gem5: {scons: ['--jobs=9']}\n", "the jobs and the directory are the workflow's"),
        ("gem5: {scons: ['PROTOCOL=X'], binary: b, source: .}\n", "scons has no part in a gem5"),
        ("gem5: {patches: [a.patch], binary: b, source: .}\n", "patches has no part in a gem5"),
        ("gem5_by_release: {v23.0: {binary: b}}\n", "add source"),
        ("gem5_by_release: {v23: {source: .}}\n", "did you mean v23."),
    ):
        path.write_text(text)
        with pytest.raises(ConfigError) as caught:
            load_site(root)
        assert said in str(caught.value) and "site.yaml:1" in str(caught.value)


def test_what_is_brought_along_changes_the_identity_of_gem5_points_only(root: Path) -> None:
    (root / "gem5.opt").write_bytes(b"one")
    ids: list[dict[str, str]] = []
    for site in ("", "gem5: {binary: gem5.opt, source: .}\n", "image: {mode: local, name: mine}\n"):
        if site:
            (root / "configs/site.yaml").write_text(site)
        found = {}
        for engine in ("gem5", "preview"):
            (root / "configs/sweeps/t.yaml").write_text(HEAD.replace("preview", engine))
            found[engine] = points(load_sweep("t", root), "softmax_fwd", root)[0].id
        ids.append(found)
    assert len({each["gem5"] for each in ids}) == 3
    assert len({each["preview"] for each in ids}) == 1


def test_what_a_machine_has_is_no_part_of_a_point_but_names_its_tools(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Docker's images are not Podman's; the statistics do not depend on which of them runs gem5."""
    (root / "configs/sweeps/t.yaml").write_text(HEAD.replace("preview", "gem5"))
    ids, images = set(), set()
    for name in ("docker", "podman", "host"):
        monkeypatch.setenv(found.DECIDED, f'{{"name": "{name}"}}')
        found.find_engine.cache_clear()
        ids.add(points(load_sweep("t", root), "softmax_fwd", root)[0].id)
        images.add(Toolset("v23.0", root).record("image"))
    assert (len(ids), len(images)) == (1, 3)
    (root / "configs/site.yaml").write_text("container: docker\n")
    assert ids == {points(load_sweep("t", root), "softmax_fwd", root)[0].id}


def test_each_release_has_a_gem5_of_its_own(root: Path) -> None:
    """Two releases on one program would be one gem5 under two names: refused, with the key that helps."""
    axes = "zip: [{release: [v23.0, v24.0], machine: [apu-gfx801, apu-gfx902]}]\n"
    (root / "configs/sweeps/t.yaml").write_text(HEAD.replace("preview", "gem5-kernels") + axes)
    site, sweep = root / "configs/site.yaml", load_sweep("t", root)
    for name in ("old", "new"):
        (root / f"{name}.opt").write_text(name)
    site.write_text("gem5: {binary: old.opt, source: .}\n")
    with pytest.raises(ConfigError, match=r"one gem5 for two releases, v23\.0 and v24\.0") as caught:
        points(sweep, "softmax_fwd", root)
    assert "gem5_by_release: {v24.0: {binary: ..., source: ...}}" in str(caught.value)
    site.write_text(
        "gem5: {binary: old.opt, source: .}\ngem5_by_release: {v24.0: {binary: new.opt, source: .}}\n"
    )
    old, new = points(sweep, "softmax_fwd", root)
    assert (old.gfx, new.gfx) == ("gfx801", "gfx902")
    assert old.software.gem5 != new.software.gem5
    binaries = [Toolset(point.release, root).site.gem5.binary for point in (old, new)]
    assert binaries == ["old.opt", "new.opt"]
    (root / "configs/sweeps/t.yaml").write_text(HEAD + axes)
    site.write_text("gem5: {binary: old.opt, source: .}\n")
    assert len(points(load_sweep("t", root), "softmax_fwd", root)) == 2, "the preview needs no gem5"


def test_the_example_of_the_site_is_a_site(root: Path) -> None:
    """As it stands, and with everything in it switched on."""
    text = (ROOT / "configs/site.example.yaml").read_text(encoding="utf-8")
    (root / "configs/site.yaml").write_text(text)
    assert load_site(root).container == "docker"
    (root / "configs/site.yaml").write_text(re.sub(r"^# (?=\S+:|  )", "", text, flags=re.M))
    site = load_site(root)
    assert site.gem5.binary and site.dnnmark.build and site.mirrors.miopen and site.image.digest


def test_the_old_name_of_the_key_container_is_read_and_told(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Sites written before the key had this name keep their image and their runs."""
    (root / "configs/site.yaml").write_text("container: host\n")
    now = Toolset("v22.1", root).record("image")
    (root / "configs/site.yaml").write_text("# mine\nengine: host\n")
    assert Toolset("v22.1", root).record("image") == now
    assert "site.yaml:2: the key `engine` is called `container` now" in capsys.readouterr().err
    (root / "configs/site.yaml").write_text("# mine\nengine: hots\n")
    with pytest.raises(ConfigError, match=r"site\.yaml:2"):
        Toolset("v22.1", root)
    (root / "configs/site.yaml").write_text("engine: host\ncontainer: docker\n")
    with pytest.raises(ConfigError, match="unknown key"):
        Toolset("v22.1", root)
