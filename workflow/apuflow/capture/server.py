"""Runs a program whose GPU is a :class:`~apuflow.capture.device.Device`."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from apuflow.capture.device import BASE, BYTES, Device, Enough
from apuflow.capture.protocol import HEAD
from apuflow.core.errors import EngineError
from apuflow.core.words import many

PATIENCE: Final = 5.0
"""Seconds that a program has to end when it is told to."""


def run(command: Sequence[str], device: Device, libraries: Sequence[Path], also: Mapping[str, str]) -> int:
    """Run a program to its end, or until the journal has enough; its exit status.

    Args:
        command: the program and its arguments.
        libraries: that come in the place of a GPU's runtime; their directories are searched first.
        also: further variables of its environment.

    Raises:
        EngineError: the program does not start, is ended by a signal, or asks for what is not there.
    """
    ours, theirs = socket.socketpair()
    with ours:
        try:
            process = subprocess.Popen(
                command,
                env=_environment(theirs.fileno(), device.descriptor, libraries) | dict(also),
                pass_fds=(theirs.fileno(), device.descriptor),
            )
        except OSError as error:
            raise EngineError(
                f"the program does not start: {error.strerror}",
                value=command[0],
                remedy="name it as a path, as in -- ./program",
            ) from None
        finally:
            theirs.close()
        try:
            _serve(ours, device)
            status = process.wait()
        except Enough:
            return 0
        finally:
            _end(process)
    if status < 0:
        name = signal.Signals(-status).name
        raise EngineError(
            f"the program was ended by {name}, after {many(device.journal.count, 'launch', 'launches')}",
            value=command[0],
            remedy="correct it: gdb or valgrind say where; memory of the GPU is as good as its host's here",
        )
    return status


def _environment(channel: int, arena: int, libraries: Sequence[Path]) -> dict[str, str]:
    found = dict(os.environ)
    found["APUFLOW_DEVICE"] = f"{channel} {arena} {BASE:x} {BYTES:x}"
    directories = dict.fromkeys(str(each.parent.resolve()) for each in libraries)
    for name, ours in (
        ("LD_LIBRARY_PATH", directories),
        ("LD_PRELOAD", [str(each.resolve()) for each in libraries]),
    ):
        found[name] = ":".join([*ours, *filter(None, [found.get(name)])])
    return found


def _serve(channel: socket.socket, device: Device) -> None:
    """Answer requests until the program closes its end."""
    while head := _received(channel, HEAD.size):
        kind, _, size = HEAD.unpack(head)
        status, reply = device.answer(kind, _received(channel, size))
        channel.sendall(HEAD.pack(status, 0, len(reply)) + reply)


def _received(channel: socket.socket, size: int) -> bytes:
    """So many bytes; fewer where the program has ended."""
    found = bytearray()
    while len(found) < size:
        part = channel.recv(min(size - len(found), 1 << 20))
        if not part:
            return b""
        found += part
    return bytes(found)


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
