"""Functions in the place of gem5's own: where they are built, and into which sources.

That gem5 writes the same statistics with them is seen by ``tests/integration/test_builds_gem5.py``.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from pathlib import Path
from typing import Any

import needs
import pytest
import yaml

from apuflow.configure import load_release, load_site
from apuflow.configure.gem5_build import Build
from apuflow.containers import Exit
from apuflow.core.errors import ConfigError
from apuflow.prepare import Gem5Record, SourceRecord, build_gem5, quick_pipeline, requests


@pytest.fixture
def gem5(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Sources of which two files were compared."""
    monkeypatch.setattr(
        quick_pipeline,
        "compared",
        lambda: {
            name: {hashlib.sha256(text).hexdigest(): "v90.1"}
            for name, text in (("src/wavefront.cc", b"exec"), ("src/shader.hh", b"class"))
        },
    )
    sources = tmp_path / "gem5"
    (sources / "src").mkdir(parents=True)
    (sources / "src/wavefront.cc").write_bytes(b"exec")
    (sources / "src/shader.hh").write_bytes(b"class")
    (sources / "configs/example").mkdir(parents=True)
    (sources / "configs/example/apu_se.py").write_text("")
    return sources


class Scons:
    """Writes the goal."""

    name = "host"

    def __init__(self) -> None:
        self.command: tuple[str, ...] = ()
        self.environment: dict[str, str] = {}

    def remove_leftovers(self, project: Path) -> None:
        """Nothing is left."""

    def run(self, job: Any) -> Any:
        self.command, self.environment = job.command, dict(job.env)
        goal = job.cwd / job.command[1]
        goal.parent.mkdir(parents=True)
        goal.write_bytes(b"")
        goal.chmod(0o755)
        return Exit(code=0, seconds=1.0)


def test_they_are_compiled_in_and_the_linker_sends_calls_there(gem5: Path, tmp_path: Path) -> None:
    engine: Any = Scons()
    build_gem5(
        SourceRecord(path=str(gem5), commit="0" * 40),
        "VEGA_X86",
        build=Build(quick_pipeline=True),
        arguments=("LINKFLAGS_EXTRA=-Wl,-s",),
        container=engine,
        jobs=1,
        image=None,
        project=tmp_path,
        log=tmp_path / "log",
    )
    extras = Path(next(word for word in engine.command if word.startswith("EXTRAS=")).partition("=")[2])
    assert extras.is_relative_to(gem5) and extras.parent.name == Path(Build(quick_pipeline=True).tree).name
    listed = re.search(r"in \((.*)\)", (extras / "SConscript").read_text())
    assert listed is not None
    assert {f"{name}.cc" for name in re.findall(r"'(\w+)'", listed[1])} == {
        p.name for p in extras.glob("*.cc")
    }
    wrapped = engine.environment["LINKFLAGS_EXTRA"].split()
    assert wrapped == [*(f"-Wl,--wrap={name}" for name in quick_pipeline.replaced()), "-Wl,-s"]
    assert "-Wl,--wrap=_ZN4gem59Wavefront4execEv" in wrapped


def build(sources: Path, **keys: Any) -> Gem5Record:
    """A build of some sources."""
    place: dict[str, Any] = {"container": Scons(), "jobs": 1, "image": None}
    record = SourceRecord(path=str(sources), commit="0" * 40)
    log = sources.parent / "log"
    return build_gem5(record, "VEGA_X86", build=Build(**keys), project=sources.parent, log=log, **place)


def test_they_are_built_in_where_they_were_compared_and_left_out_elsewhere(gem5: Path) -> None:
    quick = build(gem5)
    assert quick.quick_pipeline == quick_pipeline.digest()
    assert "quick_pipeline" in " ".join(quick.arguments)
    own = build(gem5, quick_pipeline=False)
    assert own.quick_pipeline is None and not own.arguments
    assert own.binary == f"{gem5}/build/VEGA_X86/gem5.opt" != quick.binary
    assert build(gem5, lto=True).quick_pipeline is None
    (gem5 / "src/wavefront.cc").write_bytes(b"exec2")
    shutil.rmtree(gem5 / "build")
    patched = build(gem5)
    assert patched.quick_pipeline is None and patched.binary == own.binary


def test_every_function_that_is_defined_for_the_linker_is_named_to_it() -> None:
    """One that is left out would not be called, and nobody would see it."""
    text = "".join(path.read_text() for path in Path(quick_pipeline.__file__).parent.glob("*.cc"))
    assert len(quick_pipeline.replaced()) == len(re.findall(r"^WRAP\(", text, re.MULTILINE))
    assert set(re.findall(r"__real_(_Z\w+)", text)) <= set(quick_pipeline.replaced())
    assert all(re.match(r"_ZN?K?4gem5\d", name) for name in quick_pipeline.replaced())


@pytest.mark.parametrize("change", ["other", "gone"])
def test_sources_that_were_not_compared_are_refused_before_anything_is_built(gem5: Path, change: str) -> None:
    file = gem5 / "src/shader.hh"
    if change == "gone":
        file.unlink()
    else:
        file.write_bytes(b"class;")
    with pytest.raises(ConfigError, match="was not compared") as refused:
        quick_pipeline.place(gem5, gem5 / "builds/1")
    assert refused.value.file == str(file) and "v90.1" in str(refused.value.remedy)
    assert not (gem5 / "builds").exists()


def test_older_sources_of_ours_do_not_stay_in_a_tree(gem5: Path) -> None:
    first = quick_pipeline.place(gem5, gem5 / "builds/1")
    (first / "older.cc").write_text("int older;")
    assert not (quick_pipeline.place(gem5, gem5 / "builds/1") / "older.cc").exists()


def test_another_version_is_another_gem5_where_it_was_asked_for(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = load_release("v24.1", root)

    def asked(keys: str) -> tuple[str, Any]:
        (root / "configs/site.yaml").write_text(f"container: host\ngem5: {{build: {keys}}}\n")
        site = load_site(root)
        content = requests.gem5_content(release, "gfx902", site, root)
        return requests.request("gem5-VEGA_X86", release, site, root), content

    left_out = asked("{}")
    seen = [asked("{quick_pipeline: false}"), asked("{quick_pipeline: true}")]
    monkeypatch.setattr(quick_pipeline, "digest", lambda: "1" * 64)
    seen.append(asked("{quick_pipeline: true}"))
    assert len({request for request, _ in seen}) == 3
    assert seen[0][1] != seen[1][1] != seen[2][1]
    assert asked("{}") == left_out


def test_what_was_compared_is_written_down_for_every_file() -> None:
    table = quick_pipeline.compared()
    text = (Path(quick_pipeline.__file__).parent / "compared.yaml").read_text()
    assert yaml.safe_load(text) == table
    versions = [{each for names in found.values() for each in names.split(", ")} for found in table.values()]
    assert all(found == versions[0] for found in versions)
    assert all(re.fullmatch(r"[0-9a-f]{64}", each) for found in table.values() for each in found)


def test_another_gem5_is_added_where_it_was_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = tmp_path / "compared.yaml"
    table.write_text("# head\na.cc:\n  ff00: v1\nb.cc:\n  ff11: v1\n")
    monkeypatch.setattr(quick_pipeline, "COMPARED", table)
    (tmp_path / "a.cc").write_text("a")
    with pytest.raises(ConfigError, match=r"b\.cc"):
        quick_pipeline.add(tmp_path, "v2")
    assert "v2" not in table.read_text()
    (tmp_path / "b.cc").write_text("b")
    quick_pipeline.add(tmp_path, "v2")
    quick_pipeline.add(tmp_path, "v3")
    assert table.read_text().startswith("# head\n")
    of_a = hashlib.sha256(b"a").hexdigest()
    assert quick_pipeline.compared()["a.cc"] == {"ff00": "v1", of_a: "v2, v3"}
    assert quick_pipeline.not_compared(tmp_path) is None


@pytest.mark.gem5
@pytest.mark.skipif("APUFLOW_TEST_GEM5" not in os.environ, reason=needs.GEM5.reason)
def test_a_gem5_of_a_release_that_was_compared_has_these_sources(tmp_path: Path) -> None:
    sources = Path(os.environ["APUFLOW_TEST_GEM5"]).resolve().parents[2]
    assert (quick_pipeline.place(sources, tmp_path) / "scoreboard.cc").is_file()
