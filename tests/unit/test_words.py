"""How long documents may be, and which words neither they nor sources use."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from places import ROOT

PRIVATE = ("looked at", "reckoned", "says so", "taken at its word", "hoped", "beside each other")
"""Words with a meaning of this project's own."""
AMBIGUOUS = ("say so", "stands", "asked", "draws", "a draw", "each draw", "last draw")
"""Words that documents used in several meanings."""
CLEAN = (
    "analysis/apuflow_analysis/archive",
    "analysis/apuflow_analysis/counters",
    "analysis/apuflow_analysis/figures",
    "analysis/apuflow_analysis/metrics",
    "analysis/apuflow_analysis/report",
    "analysis/apuflow_analysis/tables",
    "benchmarks",
    "workflow/apuflow/answers",
    "workflow/apuflow/ask",
    "workflow/apuflow/commands",
    "workflow/apuflow/configure",
    "workflow/apuflow/containers",
    "workflow/apuflow/core",
    "workflow/apuflow/correlate",
    "workflow/apuflow/dnnmark",
    "workflow/apuflow/engines",
    "workflow/apuflow/gem5",
    "workflow/apuflow/interpret",
    "workflow/apuflow/kernels",
    "workflow/apuflow/launcher",
    "workflow/apuflow/miopen",
    "workflow/apuflow/operations",
    "workflow/apuflow/plan",
    "workflow/apuflow/prepare",
    "workflow/apuflow/preflight",
    "workflow/apuflow/preview",
    "workflow/apuflow/results",
    "workflow/apuflow/rocblas",
    "workflow/apuflow/run",
    "workflow/apuflow/sampling",
    "workflow/apuflow/score",
    "workflow/apuflow/statsnet",
    "workflow/apuflow/suites",
    "workflow/apuflow/workloads",
    "workflow/rules",
    "workflow/scripts",
    "workflow/snakemake_logger_plugin_apuflow",
)
"""Sources without the private words."""
LISTED = subprocess.run(
    ["git", "ls-files", "--", "*.md"], cwd=ROOT, capture_output=True, text=True, check=True
).stdout.splitlines()
PAGES = [ROOT / name for name in LISTED if not name.startswith("tests/") and (ROOT / name).exists()]
"""Every Markdown file that git tracks outside of tests."""
MOST_WORDS = {
    "README.md": 900,
    "docs/preview.md": 3000,
    "docs/gem5-kernels.md": 3000,
    "": 40_000,
}
"""By the beginning of paths."""


def _words(files: Iterable[Path]) -> int:
    """As ``wc -w`` counts; generated tables count as they are."""
    return sum(len(file.read_text().split()) for file in files)


def _found(text: str, words: tuple[str, ...]) -> list[str]:
    """Those of the words that the text has, also across lines of a comment."""
    plain = re.sub(r"\s*\n[\s#*/]*", " ", text)
    return [word for word in words if re.search(rf"\b{word}\b", plain, re.IGNORECASE)]


def _sources() -> Iterator[Path]:
    for room in CLEAN:
        files = [
            file for file in (ROOT / room).rglob("*") if file.suffix in (".py", ".smk", ".c", ".h", ".cl")
        ]
        assert files, room
        yield from files


@pytest.mark.parametrize(("place", "most"), MOST_WORDS.items())
def test_documents_are_short(place: str, most: int) -> None:
    pages = [page for page in PAGES if str(page.relative_to(ROOT)).startswith(place)]
    assert pages and _words(pages) <= most


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_documents_use_the_words_of_the_field(page: Path) -> None:
    assert not _found(page.read_text(), (*PRIVATE, *AMBIGUOUS))


def test_sources_use_no_private_words() -> None:
    found = {str(file.relative_to(ROOT)): _found(file.read_text(), PRIVATE) for file in _sources()}
    assert not {file: words for file, words in found.items() if words}


def test_words_are_found_across_lines_and_not_inside_others() -> None:
    assert _found("# a flag\n    # Says\n    # so: it misunderstands", (*PRIVATE, *AMBIGUOUS)) == ["says so"]
