"""The first commit since which a gem5 gives other results: ``git bisect run`` builds and compares."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from apuflow.core.errors import ConfigError, EngineError
from apuflow.core.files import write_text
from apuflow.core.git import git
from apuflow.regress.findings import compare
from apuflow.regress.sides import Side

_CANNOT_TELL, _ABORT = 125, 128
"""Exit codes of ``git bisect run``: the commit cannot be tested; the search ends."""


@dataclass(frozen=True)
class Search:
    """What is searched, and how a commit is built.

    Attributes:
        source: a checkout of gem5; its work tree is not touched.
        good, bad: commits, the first with the results of old.
        build: a shell command, run in a work tree of the commit.
        product: what it makes, relative to that tree: gem5.opt, or a directory of results.
        options: of ``apuflow regress`` for a comparison.
    """

    source: Path
    good: str
    bad: str
    build: str
    product: str
    options: tuple[str, ...] = ()


@dataclass(frozen=True)
class Found:
    """The first commit with other results.

    Attributes:
        subject: the first line of its message.
        good, bad: results before and at the end.
    """

    commit: str
    subject: str
    good: Side
    bad: Side


def search(wanted: Search, root: Path, side: Callable[[Path], Side], say: Callable[[str], None]) -> Found:
    """Find the commit.

    Args:
        side: results of a product.
        say: is told of progress.

    Raises:
        ConfigError: a commit does not exist, ``good`` is no ancestor of ``bad``, or both give equal results.
        EngineError: one of the two cannot be built, or no commit could be told.
    """
    good, bad = (_commit(wanted.source, name) for name in (wanted.good, wanted.bad))
    if git(wanted.source, "merge-base", good, bad) != good:
        remedy = "name the older commit first: GOOD..BAD"
        raise ConfigError("GOOD is no ancestor of BAD", key="--bisect", value=wanted.good, remedy=remedy)
    place = root.resolve() / "build/regress/bisect"
    tree, kept = place / "tree", place / "good"
    _forget(wanted.source, tree)
    git(wanted.source, "worktree", "add", "--detach", "--force", str(tree), good)
    try:
        before = _built(wanted, tree, good, side, say)
        reference = _keep(before, tree / wanted.product, kept)
        git(tree, "checkout", "--detach", "--force", bad)
        after = _built(wanted, tree, bad, side, say)
        if compare(before, after).equal:
            told = f"{wanted.good}..{wanted.bad}"
            remedy = "compare more points: --points, --sweep"
            raise ConfigError("both ends give equal results", key="--bisect", value=told, remedy=remedy)
        script = _script(wanted, root, tree, place / "step.sh", reference)
        commit = _bisected(tree, good, bad, script)
        subject = git(wanted.source, "show", "--no-patch", "--format=%s", commit)
        return Found(commit, subject, before, after)
    finally:
        _forget(wanted.source, tree)


def _commit(source: Path, name: str) -> str:
    try:
        return git(source, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
    except EngineError:
        remedy = "name commits or tags of --source: --bisect v23.0.0.0..v23.1.0.0"
        raise ConfigError("no such commit", file=source, key="--bisect", value=name, remedy=remedy) from None


def _built(
    wanted: Search, tree: Path, commit: str, side: Callable[[Path], Side], say: Callable[[str], None]
) -> Side:
    say(f"building {commit[:12]}: {wanted.build}")
    done = subprocess.run(["sh", "-c", wanted.build], cwd=tree, check=False)
    if done.returncode or not (tree / wanted.product).exists():
        said = f"{commit[:12]} cannot be built" if done.returncode else "the build made no such file"
        remedy = (
            "--build is a shell command, --product what it makes; choose other ends if these do not build"
        )
        raise EngineError(said, value=wanted.build if done.returncode else wanted.product, remedy=remedy)
    return side(tree / wanted.product)


def _keep(good: Side, product: Path, kept: Path) -> Path:
    """The directory that commits are compared with: a binary's runs, or a copy of the product."""
    if good.place is not None and product.is_file():
        return good.place.resolve()
    shutil.rmtree(kept, ignore_errors=True)
    shutil.copytree(product, kept)
    return kept


def _script(wanted: Search, root: Path, tree: Path, file: Path, reference: Path) -> Path:
    compared = [str(reference), str(tree / wanted.product), *wanted.options]
    command = shlex.join([sys.executable, "-m", "apuflow.cli", "regress", *compared])
    text = f"""#!/bin/sh
# For git bisect run: builds a commit of gem5 and compares it. 0: as the good one, 1: not.
( {wanted.build} ) || exit {_CANNOT_TELL}
cd {shlex.quote(str(root.resolve()))} || exit {_ABORT}
{command}
status=$?
[ $status -gt 1 ] && exit {_CANNOT_TELL}
exit $status
"""
    write_text(file, text)
    file.chmod(0o755)
    return file


def _bisected(tree: Path, good: str, bad: str, script: Path) -> str:
    git(tree, "bisect", "start", bad, good)
    command = ["git", "-C", str(tree), "bisect", "run", str(script)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    log = git(tree, "bisect", "log")
    git(tree, "bisect", "reset", bad)
    match = re.search(r"^# first bad commit: \[([0-9a-f]{40})\]", log, re.M)
    if match is None:
        left = re.findall(r"^[0-9a-f]{40}$", done.stdout, re.M)  # where all that are left do not build
        last = f"one of {', '.join(left)}" if left else " ".join(done.stdout.strip().splitlines()[-3:])
        raise EngineError(
            "git bisect found no commit", value=last, remedy=f"read {script}, which tests each commit"
        )
    return match[1]


def _forget(source: Path, tree: Path) -> None:
    if tree.exists():
        git(source, "worktree", "remove", "--force", str(tree))
    git(source, "worktree", "prune")
