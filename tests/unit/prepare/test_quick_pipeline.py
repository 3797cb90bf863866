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
from scons_builds import built

from apuflow.configure import load_release, load_site
from apuflow.configure.gem5_build import Build
from apuflow.core.errors import ConfigError
from apuflow.prepare import quick_pipeline, requests


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
    return sources


def test_they_are_compiled_in_and_the_linker_sends_calls_there(gem5: Path) -> None:
    _, engine = built(gem5, Build(quick_pipeline=True), arguments=("LINKFLAGS_EXTRA=-Wl,-s",))
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


def test_they_are_built_in_where_they_were_compared_and_left_out_elsewhere(gem5: Path) -> None:
    quick, _ = built(gem5, Build())
    assert quick.quick_pipeline == quick_pipeline.digest()
    assert "quick_pipeline" in " ".join(quick.arguments)
    own, _ = built(gem5, Build(quick_pipeline=False))
    assert own.quick_pipeline is None and not own.arguments
    assert own.binary == f"{gem5}/build/VEGA_X86/gem5.opt" != quick.binary
    assert built(gem5, Build(lto=True))[0].quick_pipeline is None
    (gem5 / "src/wavefront.cc").write_bytes(b"exec2")
    shutil.rmtree(gem5 / "build")
    patched, _ = built(gem5, Build())
    assert patched.quick_pipeline is None and patched.binary == own.binary


def test_every_function_that_is_defined_for_the_linker_is_named_to_it() -> None:
    """One that is left out would not be called, and nobody would see it."""
    text = "".join(path.read_text() for path in quick_pipeline.SOURCES.glob("*.cc"))
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
        built(gem5, Build(quick_pipeline=True))
    assert refused.value.file == str(file) and "v90.1" in str(refused.value.remedy)
    assert not (gem5 / "builds").exists()


def test_older_sources_of_ours_do_not_stay_in_a_tree(tmp_path: Path) -> None:
    older = tmp_path / "quick_pipeline/older.cc"
    for _ in range(2):
        quick_pipeline.place(tmp_path, "LINKFLAGS_EXTRA")
        assert not older.exists() and (older.parent / "scoreboard.cc").is_file()
        older.write_text("int older;")


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
    named = {
        name
        for path in quick_pipeline.SOURCES.glob("*.cc")
        for name in re.findall(r"\b(\w+\.cc)\b", path.read_text())
    }
    assert len(named) >= 6 and named - {"changes.cc"} <= {Path(file).name for file in table}
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
    assert quick_pipeline.decided(Build(), tmp_path).quick_pipeline


@pytest.mark.gem5
@pytest.mark.skipif("APUFLOW_TEST_GEM5" not in os.environ, reason=needs.GEM5.reason)
def test_a_gem5_of_a_release_that_was_compared_has_these_sources() -> None:
    sources = Path(os.environ["APUFLOW_TEST_GEM5"]).resolve().parents[2]
    assert quick_pipeline.decided(Build(quick_pipeline=True), sources).quick_pipeline
