"""A point's identity follows what the user brought along, uncommitted changes included."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from sweep_texts import HEAD, expand

from apuflow.configure import load_release
from apuflow.core.errors import ConfigError
from apuflow.core.files import remembered_sha256, sha256_file, write_text
from apuflow.prepare.requests import checkout_commit
from apuflow.prepare.tools import Toolset


def git(directory: Path, *arguments: str) -> str:
    command = ["git", "-C", str(directory), "-c", "user.name=t", "-c", "user.email=t@localhost", *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def test_uncommitted_changes_are_part_of_a_checkouts_identity(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    (tmp_path / "a").write_text("one\n")
    git(tmp_path, "add", "a")
    git(tmp_path, "commit", "-q", "-m", "one")
    head = git(tmp_path, "rev-parse", "HEAD")

    def seen() -> str:
        checkout_commit.cache_clear()
        return checkout_commit(tmp_path)

    assert seen() == head
    (tmp_path / "a").write_text("two\n")
    two = seen()
    (tmp_path / "a").write_text("three\n")
    three = seen()
    assert two.startswith(f"{head}+") and three.startswith(f"{head}+") and two != three
    git(tmp_path, "checkout", "-q", "a")
    assert seen() == head


def test_a_directory_without_git_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="not a git checkout"):
        checkout_commit(tmp_path / "nothing")


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
        tools = Toolset("v22.1", root)
        records[name] = {tool: tools.record(tool) for tool in (tools.gem5_tool("gfx801"), "image", "dnnmark")}
        ids[name] = {point.id for point in expand(root, HEAD.replace("preview", "gem5"))}
        digest = f'{{"digest": "sha256:{name}"}}'
        write_text(root / tools.record("image"), digest)
    assert len(set.union(*ids.values())) == len(SITES)
    gem5 = [next(iter(record.values())) for record in records.values()]
    assert len(set(gem5)) == len(SITES)
    assert len({record["image"] for record in records.values()}) == 3  # scons and an own gem5 keep the image
    release = root / "configs/gem5/v22.1.yaml"
    commit = load_release("v22.1", root).gem5.commit
    release.write_text(release.read_text().replace(commit, commit[::-1]))
    (root / "configs/site.yaml").write_text(SITES["plain"])
    assert Toolset("v22.1", root).record("gem5-GCN3_X86") not in gem5


def test_the_digest_of_another_image_is_not_part_of_a_point(root: Path) -> None:
    (root / "configs/site.yaml").write_text("image: {mode: local, name: one}\n")
    write_text(root / Toolset("v22.1", root).record("image"), '{"digest": "sha256:11"}')
    text = HEAD.replace("preview", "gem5")
    assert expand(root, text)[0].describe()["image"]["digest"] == "sha256:11"
    (root / "configs/site.yaml").write_text("image: {mode: local, name: two}\n")
    assert expand(root, text)[0].describe()["image"]["digest"] is None


def test_a_remembered_hash_follows_the_file(tmp_path: Path) -> None:
    file, note = tmp_path / "program", tmp_path / "notes/note.json"
    for content in (b"one", b"two!", b"one"):
        file.write_bytes(content)
        assert remembered_sha256(file, note) == sha256_file(file) == remembered_sha256(file, note)
    note.write_text("{damaged")
    assert remembered_sha256(file, note) == sha256_file(file)


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
