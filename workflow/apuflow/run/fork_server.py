"""Runs inside gem5 in place of apu_se.py: the machine is built once, and each run of it is a fork.

    gem5.opt ... fork_server.py IDLE_SECONDS PID START_TIME apu_se.py [options of apu_se.py]

apu_se.py builds its machine as ever. Where it would go on to simulate, this process waits, in its working
directory's ``socket``, for lines ``{"outdir": ...}``. It forks for each; the fork goes on with apu_se.py and
writes to that directory. The answer is ``{"pid": N}`` at once, and ``{"status": N}`` when the fork has ended
(negative: ended by that signal). A client that hangs up ends its fork; the line ``{}`` ends this process.

It ends by itself after so many seconds without a client, or when the process PID that began at START_TIME
(field 22 of ``/proc/PID/stat``) is gone.

Nothing has been simulated before a fork, so that its statistics are those of a gem5 of its own. gem5's
``m5.fork`` does the same, but drains the system and names the directory itself (``m5/simulate.py``).
"""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import runpy
import select
import shutil
import signal
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import _m5.core
import m5

SOCKET, LOCK = "socket", ".lock"
"""As in ``apuflow.containers.shared_start``."""
_PR_SET_PDEATHSIG = 1
_LOOK_SECONDS = 0.01


def main() -> None:
    """Run apu_se.py as gem5 itself runs a script (``src/python/m5/main.py``)."""
    idle, pid, started, script = sys.argv[1:5]
    del sys.argv[:4]
    sys.path[0] = str(Path(script).parent)
    build: Callable[..., Any] = m5.instantiate

    def instantiate(*arguments: Any, **names: Any) -> None:
        build(*arguments, **names)
        _serve(float(idle), int(pid), started)

    m5.instantiate = instantiate
    runpy.run_path(script, run_name="__m5_main__")


def _serve(idle: float, pid: int, started: str) -> None:
    """Fork for each client. Returns in a fork alone."""
    sys.stdout.flush()
    sys.stderr.flush()
    server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    server.bind(SOCKET)
    server.listen(1)
    busy = time.monotonic()
    while time.monotonic() - busy < idle and _start_time(pid) == started:
        if not select.select([server], [], [], 1.0)[0]:
            continue
        client = server.accept()[0]
        with client:
            if _fork_for(client, server):
                return
        busy = time.monotonic()
    _leave()


def _leave() -> None:
    """Remove the working directory, unless somebody has just taken it and begins anew."""
    here = Path.cwd()
    Path(SOCKET).unlink()
    with Path(LOCK).open("a", encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(here, ignore_errors=True)
            here.parent.rmdir()
        except OSError:
            pass
        os._exit(0)


def _fork_for(client: socket.socket, server: socket.socket) -> bool:
    """One run. True in the fork."""
    line = client.makefile("r", encoding="utf-8").readline()
    if not line:
        return False
    outdir = json.loads(line).get("outdir")
    if outdir is None:
        os._exit(0)
    fork = os.fork()
    if fork == 0:
        server.close()
        client.close()
        _become(outdir)
        return True
    ended, status = 0, 0
    try:
        client.sendall(json.dumps({"pid": fork}).encode() + b"\n")
        while not ended:
            ended, status = os.waitpid(fork, os.WNOHANG)
            if not ended and select.select([client], [], [], _LOOK_SECONDS)[0]:
                break  # it hung up
        else:
            code = -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
            client.sendall(json.dumps({"status": code}).encode() + b"\n")
    except OSError:
        pass
    if not ended:
        os.kill(fork, signal.SIGKILL)
        os.waitpid(fork, 0)
    return False


def _become(outdir: str) -> None:
    """A session of its own that dies with its parent, and files of its own that begin as the parent's do."""
    os.setsid()
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    options = m5.options
    for stream, name in ((1, options.stdout_file), (2, options.stderr_file)):
        text = Path(options.outdir, name).read_bytes()
        with Path(outdir, name).open("wb", buffering=0) as file:
            file.write(text)
            os.dup2(file.fileno(), stream)
    options.outdir = outdir
    _m5.core.setOutputDir(outdir)


def _start_time(pid: int) -> str | None:
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[19]
    except OSError:
        return None


main()
