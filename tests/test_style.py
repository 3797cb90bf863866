"""Format, lint and types of everything in the repository, by the tools that the README names."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml
from places import ROOT

from apuflow.cli import build_app

BIN = Path(sys.executable).parent

HOOKS = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"][0]["hooks"]


@pytest.mark.parametrize("hook", HOOKS, ids=[hook["id"] for hook in HOOKS])
def test_checker_is_content(hook: dict[str, Any]) -> None:
    tool, *arguments = hook["entry"].split()
    done = subprocess.run(
        [str(BIN / Path(tool).name), *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env={**os.environ, "NO_COLOR": "1"},
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_mypy_knows_the_columns_of_the_model(tmp_path: Path) -> None:
    """``compute_units`` is a field of ``GpuModel``, ``compute_unit`` is not."""
    file = tmp_path / "use.py"
    file.write_text(
        "from apuflow.preview.tables import Gpus\n"
        "def use(of: Gpus) -> None:\n"
        "    print(of.compute_units)\n"
        "    print(of.compute_unit)\n"
    )
    done = subprocess.run([str(BIN / "mypy"), str(file)], cwd=ROOT, capture_output=True, text=True)
    (error, _) = done.stdout.splitlines()
    assert error.endswith('use.py:4: error: a table of "GpuModel" has no column "compute_unit"  [misc]')


def test_actions_of_workflows_are_pinned_by_commit() -> None:
    text = "".join(file.read_text() for file in (ROOT / ".github/workflows").glob("*.yml"))
    used = re.findall(r"uses: (.*)", text)
    assert used and all(re.fullmatch(r"[\w/-]+@[0-9a-f]{40} # v[\d.]+", one) for one in used)


def test_every_rule_has_a_docstring_and_a_log() -> None:
    for file in [ROOT / "workflow/Snakefile", *sorted((ROOT / "workflow" / "rules").glob("*.smk"))]:
        text = file.read_text()
        for match in re.finditer(r"^(?:rule|checkpoint) (\w+):\n(.*?)(?=^\S|\Z)", text, re.M | re.S):
            name, body = match.groups()
            assert body.lstrip().startswith('"""'), f"{file.name}: rule {name} has no docstring"
            assert name == "all" or "    log:" in body, f"{file.name}: rule {name} has no log"


def test_builds_and_runs_alone_become_jobs_on_a_cluster() -> None:
    """As docs/howto/cluster.md says."""
    text = "".join(file.read_text() for file in sorted((ROOT / "workflow/rules").glob("*.smk")))
    names = set(re.findall(r"^(?:rule|checkpoint) (\w+):", text, re.M))
    local = set(re.findall(r"\w+", re.search(r"^localrules:\n((?:    \w+,\n)+)", text, re.M)[1]))  # type: ignore[index]
    assert names - local == {"gem5", "dnnmark", "simulate", "batch"} and local - names == {"all"}


def test_help_of_commands_holds_no_markup() -> None:
    """Typer takes [words] in a help text for markup and shows nothing of them."""

    def texts(command: Any) -> Iterator[str]:
        yield command.help or ""
        yield from (getattr(parameter, "help", None) or "" for parameter in command.params)
        for below in getattr(command, "commands", {}).values():
            yield from texts(below)

    helps = list(texts(typer.main.get_command(build_app())))
    assert len(helps) > 40
    assert not [text for text in helps if re.search(r"\[[a-z/]", text)]


def test_locks_name_no_registry_and_pin_everything() -> None:
    for lock in ("requirements.lock", "requirements-slurm.lock", "requirements-dev.lock"):
        for line in (ROOT / lock).read_text().splitlines():
            assert re.fullmatch(r"[a-z0-9._-]+==[\w.!+]+( ; .+)?", line), f"{lock}: {line}"


def test_few_modules_know_snakemakes_insides() -> None:
    """core/paths.py alone names Snakemake's directory; what gem5 or make runs has arguments of its own."""
    inside = re.compile(
        r"""["'/]\.snakemake|paths\.snakemake\(|sys\.argv|job_rate_limiter|\bdag_settings\b"""
    )
    modules = sorted((ROOT / "workflow").rglob("*.py")) + sorted((ROOT / "workflow").rglob("*.smk"))
    found = {file.stem for file in [ROOT / "workflow/Snakefile", *modules] if inside.search(file.read_text())}
    assert found - {"fork_server", "quick_statistics", "toolchain", "without_statistics"} == {
        "session",
        "repairs",
        "workarounds",
        "paths",
    }
