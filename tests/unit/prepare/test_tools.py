"""A point's identity follows what the user brought along, uncommitted changes included."""

from __future__ import annotations

from pathlib import Path

from sweep_texts import HEAD, expand

from apuflow.configure import load_release
from apuflow.core.files import write_text
from apuflow.prepare.tools import Toolset

SITES = {
    "plain": "container: docker\n",
    "scons": "gem5: {scons: ['CCFLAGS_EXTRA=-O1 -g0', --linker=gold]}\n",
    "image": "image: {mode: local, name: mine}\n",
    "host": "container: host\n",
    "own gem5": "gem5: {binary: gem5.opt, source: .}\n",
}


def test_another_wish_has_another_record_and_other_points(root: Path) -> None:
    """What was recorded for one configuration is never taken for what another asks for."""
    (root / "gem5.opt").write_bytes(b"mine")
    ids, records = {}, {}
    for name, site in SITES.items():
        (root / "configs/site.yaml").write_text(site)
        tools = Toolset("v23.0", root)
        records[name] = {tool: tools.record(tool) for tool in (tools.gem5_tool("gfx801"), "image", "dnnmark")}
        ids[name] = {point.id for point in expand(root, HEAD.replace("preview", "gem5"))}
        digest = f'{{"digest": "sha256:{name}"}}'
        write_text(root / tools.record("image"), digest)
    assert len(set.union(*ids.values())) == len(SITES)
    gem5 = [next(iter(record.values())) for record in records.values()]
    assert len(set(gem5)) == len(SITES)
    assert len({record["image"] for record in records.values()}) == 3  # scons and an own gem5 keep the image
    release = root / "configs/gem5/v23.0.yaml"
    commit = load_release("v23.0", root).gem5.commit
    release.write_text(release.read_text().replace(commit, commit[::-1]))
    (root / "configs/site.yaml").write_text(SITES["plain"])
    assert Toolset("v23.0", root).record("gem5-GCN3_X86") not in gem5


def test_the_digest_of_another_image_is_not_part_of_a_point(root: Path) -> None:
    (root / "configs/site.yaml").write_text("image: {mode: local, name: one}\n")
    write_text(root / Toolset("v23.0", root).record("image"), '{"digest": "sha256:11"}')
    text = HEAD.replace("preview", "gem5")
    assert expand(root, text)[0].describe()["image"]["digest"] == "sha256:11"
    (root / "configs/site.yaml").write_text("image: {mode: local, name: two}\n")
    assert "digest" not in expand(root, text)[0].describe()["image"]
