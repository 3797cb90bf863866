"""Patches on gem5's sources: applied whole, to a checkout of their own, and part of a point's identity."""

from __future__ import annotations

from pathlib import Path

import pytest
from standins.repositories import Repository, git, make_gem5
from sweep_texts import HEAD

from apuflow.configure import load_sweep
from apuflow.core.errors import EngineError
from apuflow.engines.simulated import provenance
from apuflow.plan.points import points
from apuflow.prepare.builds import Gem5Record, unchanged_gem5
from apuflow.prepare.images import ImageRecord
from apuflow.prepare.sources import gem5_patches, patched_source, read_patches, use_checkout
from apuflow.prepare.tools import Toolset

WRITES = """--- a/{file}
+++ b/{file}
@@ -1 +1 @@
-{old}
+{new}
"""
ADDS = """--- /dev/null
+++ b/src/ours.cc
@@ -0,0 +1 @@
+// ours
"""


@pytest.fixture
def gem5(tmp_path: Path) -> Repository:
    path = tmp_path / "upstream"
    made = make_gem5(path)
    (path / "shape.txt").write_text("round\n")
    git(path, "add", "shape.txt")
    git(path, "-c", "user.name=t", "-c", "user.email=t@localhost", "commit", "-qm", "shape")
    return Repository(path, git(made.path, "rev-parse", "HEAD"))


def write(root: Path, name: str, old: str, new: str) -> str:
    (root / name).write_text(WRITES.format(file="shape.txt", old=old, new=new))
    return name


def test_patches_are_applied_in_order_to_a_checkout_of_their_own(tmp_path: Path, gem5: Repository) -> None:
    places = [write(tmp_path, "a.patch", "round", "square"), write(tmp_path, "b.patch", "square", "flat")]
    (tmp_path / "c.patch").write_text(ADDS)
    patches = read_patches([*places, "c.patch"], tmp_path)
    source = use_checkout(gem5.path)
    made = patched_source(source, patches, tmp_path / "sources")
    assert (Path(made.path) / "shape.txt").read_text() == "flat\n"
    assert (Path(made.path) / "src/ours.cc").read_text() == "// ours\n"
    assert (made.commit, made.dirty) == (gem5.commit, True)
    assert (gem5.path / "shape.txt").read_text() == "round\n"
    assert patched_source(source, patches, tmp_path / "sources") == made
    fewer = patched_source(source, patches[:1], tmp_path / "sources")
    assert fewer.path != made.path and (Path(fewer.path) / "shape.txt").read_text() == "square\n"
    (Path(made.path) / "shape.txt").write_text("mine\n")
    with pytest.raises(EngineError, match=r"have been changed; the first file is shape\.txt"):
        patched_source(source, patches, tmp_path / "sources")


def test_a_patch_that_does_not_apply_leaves_nothing_and_says_where(tmp_path: Path, gem5: Repository) -> None:
    places = [write(tmp_path, "a.patch", "round", "square"), write(tmp_path, "b.patch", "oval", "flat")]
    with pytest.raises(EngineError) as caught:
        patched_source(use_checkout(gem5.path), read_patches(places, tmp_path), tmp_path / "sources")
    said = str(caught.value)
    assert "b.patch" in said and f"does not apply to gem5 {gem5.commit[:12]}" in said and "shape.txt" in said
    assert not [path for path in (tmp_path / "sources").iterdir() if path.is_dir()]
    (gem5.path / "shape.txt").write_text("mine\n")
    with pytest.raises(EngineError, match="checkout without changes"):
        patched_source(use_checkout(gem5.path, allow_dirty=True), (), tmp_path / "sources")
    with pytest.raises(EngineError, match="no such patch"):
        read_patches(["none.patch"], tmp_path)


def test_patches_name_tools_and_points(root: Path) -> None:
    """Their bytes count, not their names; the preview has no part in it."""
    (root / "configs/sweeps/k.yaml").write_text(HEAD.replace("preview", "gem5-kernels"))
    (root / "configs/sweeps/p.yaml").write_text(HEAD)
    seen = []
    for number, name in enumerate(("", "a.patch", "b.patch", "c.patch")):
        if name:
            write(root, name, "round", "square" if number < 3 else "flat")
            (root / "configs/site.yaml").write_text(f"gem5: {{patches: [{name}]}}\n")
        record = Toolset("v22.1", root).record("gem5-GCN3_X86")
        ids = [points(load_sweep(sweep, root), "softmax_fwd", root)[0].id for sweep in ("k", "p")]
        seen.append((record, *ids))
    plain, first, same, other = seen
    assert first == same
    assert len({plain[0], first[0], other[0]}) == len({plain[1], first[1], other[1]}) == 3
    assert len({each[2] for each in seen}) == 1


def test_the_releases_patches_come_before_the_sites(root: Path) -> None:
    release = root / "configs/gem5/v22.1.yaml"
    text = release.read_text()
    assert text.count("gem5:\n  url") == 1
    release.write_text(text.replace("gem5:\n  url", "gem5:\n  patches: [r.patch]\n  url"))
    (root / "configs/site.yaml").write_text("gem5: {patches: [s.patch]}\n")
    for name in ("r.patch", "s.patch"):
        write(root, name, "round", name)
    tools = Toolset("v22.1", root)
    assert gem5_patches(tools.release, tools.site) == ("r.patch", "s.patch")


def test_rows_list_the_patches_and_a_run_checks_the_sources(root: Path, gem5: Repository) -> None:
    patches = read_patches([write(root, "a.patch", "round", "square")], root)
    source = patched_source(use_checkout(gem5.path), patches, root / "sources")
    program = root / "gem5.opt"
    program.write_bytes(b"abc")
    record = Gem5Record(
        binary=str(program),
        # SHA-256 of "abc", FIPS 180-4
        sha256="ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
        script="s",
        source=source,
        target="GCN3_X86",
        patches=tuple(map(str, patches)),
    )
    assert unchanged_gem5(record, root / "record.json") == record
    (root / "configs/sweeps/k.yaml").write_text(HEAD.replace("preview", "gem5-kernels"))
    point = points(load_sweep("k", root), "softmax_fwd", root)[0]
    image = ImageRecord(engine="host", kind="none", name=None, reference=None, digest=None)
    made = provenance(point, record, image)
    assert made.gem5_patches == f"a.patch {patches[0].sha256[:12]}" and made.notes == ()
    (Path(source.path) / "shape.txt").write_text("mine\n")
    with pytest.raises(EngineError, match="other changes than when they were recorded"):
        unchanged_gem5(record, root / "record.json")
