"""Stages of the toolchain that need no container: sources, one's own programs, the host."""

from __future__ import annotations

from pathlib import Path

import pytest
from standins.repositories import Repository, git, make_gem5

from apuflow.containers import found
from apuflow.core.errors import EngineError
from apuflow.prepare import stages
from apuflow.prepare.builds import Gem5Record
from apuflow.prepare.images import ImageRecord
from apuflow.prepare.records import read_record
from apuflow.prepare.sources import SourceRecord
from apuflow.prepare.tools import Toolset


@pytest.fixture
def gem5(tmp_path: Path) -> Repository:
    return make_gem5(tmp_path / "upstream")


def toolset(root: Path, site: str) -> Toolset:
    (root / "configs/site.yaml").write_text(site)
    return Toolset("v22.1", root)


def test_a_source_is_cloned_from_the_mirror_at_the_releases_commit(root: Path, gem5: Repository) -> None:
    release = root / "configs/gem5/v22.1.yaml"
    tools = toolset(root, "container: host\n")
    release.write_text(release.read_text().replace(tools.release.gem5.commit, gem5.commit))
    tools = toolset(root, f"mirrors: {{gem5: {gem5.path}}}\n")
    out = root / "record.json"
    stages.source(tools, "gem5", out)
    place = root.resolve() / f"build/sources/gem5-{gem5.commit[:12]}"
    assert read_record(out, SourceRecord) == SourceRecord(path=str(place), commit=gem5.commit)
    assert (place / "configs/example/apu_se.py").is_file()


def test_the_container_engine_that_was_found_is_printed_into_the_rules_log(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(found.DECIDED, '{"name": "host", "passed": {"docker": "is dead"}}')
    assert stages.container(toolset(root, "batch: 0s\n")).name == "host"
    told = "container engine: none, the tools of this machine are used; not docker: is dead"
    assert told in capsys.readouterr().out
    stages.container(toolset(root, "container: host\n"))
    assert capsys.readouterr().out == ""


def test_ones_own_checkout_is_recorded_as_it_is(root: Path, gem5: Repository) -> None:
    (gem5.path / "SConstruct").write_text("changed\n")
    out = root / "record.json"
    with pytest.raises(EngineError, match="uncommitted changes"):
        stages.source(toolset(root, "gem5: {source: upstream}\n"), "gem5", out)
    assert not out.exists()
    stages.source(toolset(root, "gem5: {source: upstream, allow_dirty: true}\n"), "gem5", out)
    record = read_record(out, SourceRecord)
    assert record.commit == git(gem5.path, "rev-parse", "HEAD")
    assert record.dirty


def test_ones_own_gem5_is_recorded_with_its_hash_and_its_checkouts_script(
    root: Path, gem5: Repository
) -> None:
    program = root / "gem5.opt"
    program.write_bytes(b"abc")
    program.chmod(0o755)
    tools = toolset(root, "gem5: {binary: gem5.opt, source: upstream}\n")
    stages.source(tools, "gem5", root / tools.record("source-gem5"))
    stages.gem5(tools, None, root / "gem5.json", root / "log", jobs=1)
    record = read_record(root / "gem5.json", Gem5Record)
    # SHA-256 of "abc", FIPS 180-4
    assert record.sha256 == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert record.script == str(gem5.path / "configs/example/apu_se.py")
    assert record.source.commit == gem5.commit


@pytest.mark.parametrize("repository", ["rocblas", "tensile"])
def test_sources_of_products_that_cannot_be_had_are_an_error_with_both_ways_out(
    root: Path, repository: str
) -> None:
    tools = toolset(root, f"mirrors: {{{repository}: /nowhere/{repository}.git}}\n")
    with pytest.raises(EngineError, match="cannot clone /nowhere") as caught:
        stages.source(tools, repository, root / "record.json")
    fix = str(caught.value).partition("fix:")[2]
    assert f"{repository}_source: a checkout at rocm-4.0.0" in fix and "products: stand-in" in fix


def test_the_host_is_no_image(root: Path) -> None:
    stages.image(toolset(root, "container: host\n"), root / "image.json", root / "logs/image.log")
    record = read_record(root / "image.json", ImageRecord)
    assert (record.engine, record.reference, record.digest) == ("host", None, None)
