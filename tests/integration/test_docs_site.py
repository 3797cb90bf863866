"""The documentation site: no warning, no dead link, nothing loaded from elsewhere."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
import typer.main
from places import ROOT

from apuflow.cli import build_app

OUTSIDE = (
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "SECURITY.md",
    "config/README.md",
    "data/README.md",
)
"""Pages of the repository that do not belong to the site."""


class Page(HTMLParser):
    """Links, anchors and what a page loads."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.anchors: set[str] = set()
        self.loads: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        values = {key: value or "" for key, value in attributes}
        if "id" in values:
            self.anchors.add(values["id"])
        if tag == "a" and "href" in values:
            self.links.add(values["href"])
        if tag in ("script", "img"):
            self.loads.add(values.get("src", ""))
        if tag == "link" and values.get("rel") == "stylesheet":
            self.loads.add(values["href"])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html"]
    done = subprocess.run(
        [*command, "-d", str(place / "trees"), "docs", str(place / "html")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return place / "html"


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Page]:
    return {file: Page(file.read_text(encoding="utf-8")) for file in sorted(site.rglob("*.html"))}


def test_every_link_inside_the_site_leads_somewhere(site: Path, pages: dict[Path, Page]) -> None:
    broken = []
    for file, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
            if not target.exists():
                broken.append(f"{file.name}: {link}")
            elif parts.fragment and target in pages and parts.fragment not in pages[target].anchors:
                broken.append(f"{file.name}: no place #{parts.fragment} in {target.name}")
    assert not broken, "\n".join(broken)
    assert len(pages) > 15


def test_the_site_loads_nothing_from_elsewhere(pages: dict[Path, Page]) -> None:
    for file, page in pages.items():
        assert not [load for load in page.loads if load.startswith(("http:", "https:", "//"))], file


def test_it_can_be_searched_and_every_page_is_in_the_list_of_contents(
    site: Path, pages: dict[Path, Page]
) -> None:
    assert "barrier" in (site / "searchindex.js").read_text(encoding="utf-8")
    listed = {urlsplit(link).path for link in pages[site / "index.html"].links}
    sources = {path.relative_to(ROOT / "docs").with_suffix(".html") for path in (ROOT / "docs").rglob("*.md")}
    assert {path.as_posix() for path in sources} - listed <= {"index.html"}


@pytest.mark.parametrize("name", [name for name in OUTSIDE if (ROOT / name).exists()])
def test_relative_links_of_a_page_outside_the_site_resolve(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    links = re.findall(r"(?<=\]\()[^)\s]+|(?<=src=\")[^\"]+|(?<=srcset=\")[^\"]+|(?<=href=\")[^\"]+", text)
    for link in links:
        parts = urlsplit(link)
        if parts.scheme or not parts.path:
            continue
        assert (ROOT / name).parent.joinpath(unquote(parts.path)).exists(), link


def test_pages_say_what_commands_and_functions_do(site: Path) -> None:
    commands = (site / "commands.html").read_text(encoding="utf-8")
    assert "Pack a study" in commands and "apuflow retry" in commands
    assert "Draw a figure by name" in (site / "python.html").read_text(encoding="utf-8")


def _commands() -> Iterator[str]:
    """Lines of documents that begin with ``apuflow``, without comments."""
    for file in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        for kind, block in re.findall(
            r"^```(\w*)\n(.*?)^```$", file.read_text(encoding="utf-8"), re.M | re.S
        ):
            if kind in ("", "sh", "bash"):
                lines = (line for line in block.splitlines() if line.startswith("apuflow "))
                yield from (line.partition(" #")[0].strip() for line in lines)


@pytest.mark.parametrize("line", sorted(set(_commands())))
def test_a_command_that_a_document_shows_exists(line: str) -> None:
    """With the options that it is shown with."""
    command = typer.main.get_command(build_app())
    words = line.split()[1:]
    while words and words[0] in getattr(command, "commands", {}):
        command = command.commands[words.pop(0)]  # type: ignore[attr-defined]
    known = {name for option in command.params for name in [*option.opts, *option.secondary_opts]} | {
        "--help"
    }
    assert not getattr(command, "commands", None) or words[0].startswith("-"), f"no such command: {line}"
    used = {word.partition("=")[0] for word in words if re.match(r"--?[a-z]", word)}
    assert used <= known, line
