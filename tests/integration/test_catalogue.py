"""What Snakemake's catalogue does with a clone, and what snakedeploy makes of it."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest
from gem5_project import SNAKEMAKE
from places import ROOT

NAMED = re.compile(r"[A-Za-z0-9._-]+")


def without_apuflow(directory: Path) -> Path:
    """A directory with the packages that Snakemake needs, and no other, to import from."""
    left, seen = ["snakemake"], set()
    while left:
        name = re.sub(r"[-_.]+", "-", left.pop()).lower()
        if name in seen:
            continue
        seen.add(name)
        try:
            found = distribution(name)
        except PackageNotFoundError:  # of another Python or system
            continue
        needed = [
            each for each in found.requires or () if "extra ==" not in each and "sys_platform" not in each
        ]
        left += [NAMED.match(each)[0] for each in needed]  # type: ignore[index]
        for top in {
            file.parts[0] for file in found.files or () if file.parts[0] not in ("..", "__pycache__")
        }:
            if not (directory / top).is_symlink():
                (directory / top).symlink_to(Path(str(found.locate_file(top))))
    return directory


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """The files that git has, as they are in the work tree."""
    names = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in names.splitlines():
        if name.startswith(("workflow/", "profiles/", "analysis/", "config/")) or name == "Snakefile":
            (tmp_path / "clone" / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / "clone" / name).write_bytes((ROOT / name).read_bytes())
    return tmp_path / "clone"


def snakemake(clone: Path, packages: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Snakemake in a Python that sees these packages alone."""
    start = f"import sys; sys.path.append({str(packages)!r}); from snakemake.cli import main; main()"
    command = [sys.executable, "-I", "-S", "-c", start, *arguments]
    return subprocess.run(command, cwd=clone, capture_output=True, text=True, timeout=200)


def test_a_clone_passes_lint_without_the_package(clone: Path, tmp_path: Path) -> None:
    (tmp_path / "packages").mkdir()
    packages = without_apuflow(tmp_path / "packages")
    linted = snakemake(clone, packages, "--lint")
    assert linted.returncode == 0, linted.stderr
    assert "Congratulations" in linted.stdout + linted.stderr
    started = snakemake(clone, packages, "--cores", "1", "results/quickstart/softmax_fwd.csv")
    assert started.returncode == 2 and "a Python package of apuflow is missing" in started.stderr
    assert "Traceback" not in started.stderr


def test_a_deployed_module_makes_a_table(clone: Path, tmp_path: Path) -> None:
    """With a local repository in place of GitHub's, and the Snakefile that snakedeploy 0.17 writes."""
    who = ("-c", "user.name=a", "-c", "user.email=a@b")
    for arguments in (("init", "--quiet"), ("add", "--all"), (*who, "commit", "--quiet", "-m", "x")):
        subprocess.run(["git", "-C", str(clone), *arguments], check=True)
    subprocess.run(["git", "-C", str(clone), "tag", "v1"], check=True)
    deployed = tmp_path / "study"
    (deployed / "workflow").mkdir(parents=True)
    (deployed / "config").mkdir()
    (deployed / "config/config.yaml").write_bytes((clone / "config/config.yaml").read_bytes())
    (deployed / "workflow/Snakefile").write_text(
        f"""
configfile: "config/config.yaml"

module apuflow:
    snakefile:
        gitfile({str(clone)!r}, path="workflow/Snakefile", tag="v1")
    config:
        config

use rule * from apuflow
"""
    )
    apuflow = Path(sys.executable).with_name("apuflow")
    subprocess.run([str(apuflow), "init", "."], cwd=deployed, check=True, capture_output=True)
    assert not (deployed / "Snakefile").exists()
    command = [str(SNAKEMAKE), "--cores", "2", "results/quickstart/softmax_fwd.csv"]
    done = subprocess.run(command, cwd=deployed, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (deployed / "results/quickstart/softmax_fwd.csv").is_file()
