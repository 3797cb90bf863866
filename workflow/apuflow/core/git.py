"""Run git independent of hooks, prompts and variables of the caller.

The user's settings hold (proxies, credentials, other addresses of servers): a clone may need them.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from apuflow.core.errors import EngineError

_PROTOCOLS = "file:git:http:https:ssh"
"""Others run programs (``ext::``)."""


def git(directory: Path, *arguments: str, timeout: float | None = None) -> str:
    """Output of a git command, stripped; EngineError if git is missing or fails, with its last line.

    ``directory`` is a checkout, or the place of a new one; ``timeout`` in seconds is for servers.
    """
    return _output(directory, arguments, timeout).decode(errors="replace").strip()


def commit_of(directory: Path) -> str:
    """The commit of a checkout. Raises EngineError if there is none."""
    return git(directory, "rev-parse", "HEAD")


def changes_of(directory: Path) -> bytes:
    """Uncommitted changes of a checkout's tracked files, as a patch. Raises EngineError if there is none."""
    plain = ("-c", "diff.noprefix=false", "-c", "diff.mnemonicPrefix=false", "diff", "--no-ext-diff")
    return _output(directory, (*plain, "--no-textconv", "HEAD", "--binary"), None)


def _output(directory: Path, arguments: tuple[str, ...], timeout: float | None) -> bytes:
    program = shutil.which("git")
    if program is None:
        raise EngineError("git is not on this machine", value="git", remedy="install git")
    settings = (f"safe.directory={directory}", "core.hooksPath=/dev/null", "core.fsmonitor=false")
    command = [program, "-C", str(directory), *(word for setting in settings for word in ("-c", setting))]
    # A git hook that calls apuflow must not choose the repository.
    clean = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    own = {"GIT_TERMINAL_PROMPT": "0", "GIT_ALLOW_PROTOCOL": _PROTOCOLS, "LC_ALL": "C.UTF-8"}
    try:
        done = subprocess.run(
            [*command, *arguments],
            capture_output=True,
            env=clean | own,
            stdin=subprocess.DEVNULL,
            timeout=timeout,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise EngineError(f"git did not answer within {timeout:g} s", file=directory) from None
    except OSError as error:
        raise EngineError(f"git cannot start: {error.strerror}", value=program) from None
    if done.returncode != 0:
        verb = next((word for word in arguments if not word.startswith("-") and "=" not in word), "")
        said = done.stderr.decode(errors="replace").strip().splitlines() or [f"status {done.returncode}"]
        fatal = [line for line in said if line.startswith(("fatal: ", "error: "))]  # hints may follow
        raise EngineError(f"git {verb}: {(fatal or said)[-1]}", file=directory)
    return done.stdout
