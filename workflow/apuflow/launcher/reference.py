"""Compare the memory after a guest run with NumPy in double precision."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from apuflow.launcher.plan import GuestRun, initial_contents
from apuflow.launcher.reference_call import Array, Memory
from apuflow.launcher.reference_kernels import INVERSE, execute
from apuflow.miopen.launch import definitions

TOLERANCE = 1e-4
"""Largest difference from the reference, relative to the largest element of the buffer.

It includes the order of additions in a split sum (rocBLAS' GlobalSplitU, up to 32), which differs between
machines: 32 additions round by at most 32 * 2**-24 = 2e-6."""


_TYPES: Mapping[str, type[np.generic]] = {"modulo": np.uint8, "indices": np.int32}
"""Element types of buffers by their contents, if not 32-bit floats."""


def expected_outputs(run: GuestRun, data: Array | None = None) -> Memory:
    """All buffers of a guest run after its last dispatch; ``data`` is the data file."""
    memory = _initial(run, data)
    for launch in run.launches:
        execute(launch, memory)
    return memory


def _initial(run: GuestRun, data: Array | None) -> Memory:
    memory: Memory = {}
    for name, buffer in initial_contents(run).items():
        values = buffer.contents.values(buffer.size, data)
        memory[name] = values.view(_TYPES.get(buffer.contents.kind, np.float32))
    return memory


def compare(
    run: GuestRun, data: Array | None = None, directory: Path = Path(), shares: Sequence[float] = ()
) -> dict[str, float]:
    """By dumped output of a finished run, its difference from NumPy.

    Outputs that depend on workgroups that were not launched are left out; of the others, elements that the
    run changed are compared.

    Args:
        directory: base of the outputs' paths.
        shares: the launched share of each dispatch's grid; empty: all of it.

    Raises:
        NotModelled: a kernel without a reference.
        OSError: an output is not there.
    """
    expected = expected_outputs(run, data)
    written = partly_written(run, shares)
    before = _initial(run, data) if written else {}
    found = {}
    for output in run.outputs:
        name = output.buffer
        actual = np.fromfile(directory / output.path, np.float32, output.elements)
        want, share = expected[name], written.get(name, 1.0)
        if share == 0.0:
            continue
        if share < 1.0 and actual.size == want.size:
            untouched = actual == before[name]
            due = np.count_nonzero(want != before[name])
            if np.count_nonzero(~untouched) < share * due / 2:
                found[name] = math.inf
                continue
            actual = np.where(untouched, want, actual)
        found[name] = difference(actual, want)
    return found


def tolerances(run: GuestRun) -> dict[str, float]:
    """By output, the largest difference from NumPy that counts as equal.

    The variance of one image is a rounding error, and the root of its inverse anything up to that of epsilon.
    """
    allowed = {output.buffer: TOLERANCE for output in run.outputs}
    for launch in run.launches:
        alone = definitions(launch.arguments).get("MIO_BN_N") == "1"
        if launch.kernel == "MIOpenBatchNormFwdTrainPerActivation" and alone:
            buffers = [str(arg.value) for arg in launch.args if arg.kind == "buffer"]
            allowed[buffers[INVERSE]] = 1.0
    return allowed


def partly_written(run: GuestRun, shares: Sequence[float]) -> Mapping[str, float]:
    """By partly written buffer, the share of the launch that writes it.

    It is 0 if that launch reads another such buffer.
    """
    written: dict[str, float] = {}
    for launch, share in zip(run.launches, shares, strict=False):
        memory = [arg for arg in launch.args if arg.kind == "buffer"]
        reads = {str(arg.value) for arg in memory if arg.role != "out"}
        wrong = not reads.isdisjoint(written)
        for name in {str(arg.value) for arg in memory if arg.role != "in"}:
            if wrong or share < 1.0:
                written[name] = 0.0 if wrong else min(share, written.get(name, 1.0))
    return written


def difference(actual: Array, expected: Array) -> float:
    """Largest difference over the largest expected element; infinite where one side alone is not finite."""
    if actual.shape != expected.shape:
        return math.inf
    if np.array_equal(actual, expected, equal_nan=actual.dtype.kind == "f"):
        return 0.0
    got, want = actual.astype(np.float64), expected.astype(np.float64)
    same = (got == want) | (np.isnan(got) & np.isnan(want))
    if not (np.isfinite(got) | same).all() or not (np.isfinite(want) | same).all():
        return math.inf
    scale = float(np.abs(want[np.isfinite(want)]).max(initial=0.0)) or 1.0
    largest = float(np.abs(got[~same] - want[~same]).max(initial=0.0))
    return max(largest / scale, float(np.finfo(np.float64).tiny))
