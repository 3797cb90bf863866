"""docs/development.md and CONTRIBUTING.md name only what is there, and no addition takes many files."""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer.main
from places import ROOT

from apuflow.cli import build_app

MOST_FILES = 6
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)
SPAN = re.compile(r"`([^`]+)`")
STEP = re.compile(r"^\d+\. `([^`]+)`(.*(?:\n   .*)*)", re.M)
NAMES = re.compile(r"NAME\w*")
FILE_TYPES = ("md", "yaml", "yml", "toml", "lock", "c", "h", "smk", "py")
ROOMS = ("apuflow", "apuflow_analysis")


def _texts() -> str:
    return "\n".join((ROOT / name).read_text() for name in ("docs/development.md", "CONTRIBUTING.md"))


def _spans() -> list[str]:
    return sorted({" ".join(span.split()) for span in SPAN.findall(FENCE.sub("", _texts()))})


def _is_path(span: str) -> bool:
    return re.fullmatch(r"[\w./-]+", span) is not None and (
        "/" in span.strip("/") or span.rpartition(".")[2] in FILE_TYPES
    )


def _paths() -> Iterator[str]:
    links = re.findall(r"\]\(([^)]+)\)", _texts())
    elsewhere = {"/path/to/gem5.opt", "src/kernels", "apu_se.py", "apu_se.yaml"}
    yield from links
    yield from (span for span in _spans() if _is_path(span) and span not in elsewhere)


def _modules() -> list[str]:
    return [span for span in _spans() if re.fullmatch(rf"(?:{'|'.join(ROOMS)})(?:\.\w+)+", span)]


def _recipes() -> dict[str, list[tuple[str, str]]]:
    """Path and text of each step, by title."""
    additions = _texts().split("\n## Additions\n")[1].split("\n## ")[0]
    return {part.split("\n")[0]: STEP.findall(part) for part in additions.split("\n### ")[1:]}


RECIPES = _recipes()


@pytest.mark.parametrize("path", sorted(set(_paths())))
def test_paths_exist(path: str) -> None:
    """NAME stands for a name that someone has already chosen once."""
    assert list(ROOT.glob(NAMES.sub("*", path))), f"there is no {path}"


@pytest.mark.parametrize("name", _modules())
def test_modules_and_what_is_named_in_them_exist(name: str) -> None:
    module, _, attribute = name.rpartition(".")
    try:
        importlib.import_module(name)
    except ModuleNotFoundError:
        assert hasattr(importlib.import_module(module), attribute), name


@pytest.mark.parametrize(("title", "steps"), RECIPES.items(), ids=RECIPES)
def test_a_step_names_what_stands_in_its_file(title: str, steps: Sequence[tuple[str, str]]) -> None:
    assert steps, f"{title} has no steps"
    for path, text in steps:
        files = [file.read_text() for file in ROOT.glob(NAMES.sub("*", path))]
        for name in SPAN.findall(text):
            if re.fullmatch(r"[A-Za-z_]\w+|gfx-version", name) and name != "run_process":
                assert any(re.search(rf"\b{name}\b", file) for file in files), f"{title}: no {name} in {path}"


@pytest.mark.parametrize(("title", "steps"), RECIPES.items(), ids=RECIPES)
def test_an_addition_takes_few_files(title: str, steps: Sequence[tuple[str, str]]) -> None:
    assert 1 <= len({path for path, _ in steps}) <= MOST_FILES, title


def test_every_kind_of_addition_is_described() -> None:
    things = {"gem5 release", "GPU", "primitive", "metric", "figure", "machine option", "command", "engine"}
    things |= {"container engine", "workload", "workload kind"}
    assert {re.sub(r"^Add an? ", "", title) for title in RECIPES} >= things


def test_the_map_has_every_room_and_no_other() -> None:
    found = {f"apuflow.{file.parent.name}" for file in ROOT.glob("workflow/apuflow/*/__init__.py")}
    found |= {
        f"apuflow_analysis.{file.parent.name}"
        for file in ROOT.glob("analysis/apuflow_analysis/*/__init__.py")
    }
    assert set(re.findall(r"^\| `((?:apuflow|apuflow_analysis)\.\w+)` \|", _texts(), re.M)) == found


def test_layers_are_those_that_lint_checks() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    checked = next(contract["layers"] for contract in contracts if contract["type"] == "layers")
    (shown,) = (text for kind, text in FENCE.findall(_texts()) if kind == "text")
    assert shown.splitlines() == [layer for layer in checked if layer != "cli"]


# commands -------------------------------------------------------------------------------------------------


def _apuflow(words: list[str]) -> None:
    group: Any = typer.main.get_command(build_app())
    command = group.commands[words[0]]
    known = {option for parameter in command.params for option in parameter.opts}
    assert {word for word in words if word.startswith("-")} <= known


def _make(words: list[str]) -> None:
    for target in words:
        assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.M), target


@cache
def _pytest_help() -> str:
    return subprocess.run(
        [sys.executable, "-m", "pytest", "--help"], capture_output=True, text=True, check=True, cwd=ROOT
    ).stdout


def _pytest(words: list[str]) -> None:
    for flag in (word for word in words if word.startswith("-")):
        assert re.search(rf"^ +{flag}\b", _pytest_help(), re.M), flag
    for place in (word for word in words if word.startswith("tests/")):
        assert (ROOT / place).exists(), place
    if "-k" in words:
        chosen = words[words.index("-k") + 1]
        assert any(chosen in file.read_text() for file in (ROOT / "tests/unit").rglob("test_*.py")), chosen


def _python(words: list[str]) -> None:
    if words[:2] == ["-m", "pytest"]:
        _pytest(words[2:])
    elif words[0] == "-m":
        assert hasattr(importlib.import_module(words[1]), "main")
    else:
        assert (ROOT / words[0]).is_file()


def _program(file: str) -> Callable[[list[str]], None]:
    return lambda words: _is_program(ROOT / file, words)


def _is_program(file: Path, words: list[str]) -> None:
    assert os.access(file, os.X_OK) and not words


CHECKS: dict[str, Callable[[list[str]], None]] = {
    "apuflow": _apuflow,
    "make": _make,
    "python": _python,
    ".venv/bin/python": _python,
    ".ci/run": _program(".ci/run"),
    ".ci/bare": _program(".ci/bare"),
}


def _commands() -> Iterator[str]:
    for kind, text in FENCE.findall(_texts()):
        if not kind:
            yield from (line.partition(" #")[0].strip() for line in text.splitlines() if line.strip())
    yield from (span for span in _spans() if span.partition(" ")[0] in CHECKS and span != "apuflow")


@pytest.mark.parametrize("line", sorted(set(_commands())))
def test_commands_and_their_flags_exist(line: str) -> None:
    program, *words = line.split()
    CHECKS[program](words)


def test_variables_are_read_by_the_tests() -> None:
    read = "".join(file.read_text() for file in (ROOT / "tests").rglob("*.py") if file != Path(__file__))
    named = set(re.findall(r"APUFLOW_\w+", _texts()))
    assert len(named) >= 3
    assert {name for name in named if name not in read} == set()
