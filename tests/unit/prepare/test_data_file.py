"""The data file for DNNMark's -mmap."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from apuflow.core.errors import ApuflowError
from apuflow.prepare.data_file import block, check_mmap, file_bytes, write_mmap


@pytest.mark.parametrize(
    ("needed", "size"), [(0, 4096), (1, 4096), (4096, 4096), (4097, 8192), (400_000, 401_408)]
)
def test_the_file_is_as_large_as_the_largest_chunk_in_whole_pages(needed: int, size: int) -> None:
    assert file_bytes(needed) == size


def test_values_are_finite_normal_and_spread() -> None:
    values = block()
    assert values.dtype == np.dtype("<f4")
    assert np.isfinite(values).all()
    assert values.min() >= 0
    assert values.max() < 1
    assert values[values > 0].min() >= 2.0**-23  # no denormals
    assert abs(float(values.mean()) - 0.5) < 0.01
    assert np.unique(values).size > 900_000


def test_the_file_is_whole_reproducible_and_passes_its_check(tmp_path: Path) -> None:
    size = 4096 * 2500  # more than two blocks of 4 MiB, not a multiple of them
    for name in ("a", "b"):
        write_mmap(tmp_path / name, size)
    content = (tmp_path / "a").read_bytes()
    assert len(content) == size
    assert content == (tmp_path / "b").read_bytes()
    assert content[:4096] == block().tobytes()[:4096]
    assert check_mmap(tmp_path / "a", size) is None
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]


def test_what_does_not_do_is_said(tmp_path: Path) -> None:
    path = tmp_path / "m"
    assert "No such file" in str(check_mmap(path, 4))
    path.write_bytes(b"\0" * 4096)
    assert check_mmap(path, 4096) is None
    assert "a chunk of 4,097 is filled" in str(check_mmap(path, 4097))
    path.write_bytes(np.array([1.0, np.nan], "<f4").tobytes())
    assert "not finite" in str(check_mmap(path, 8))
    path.write_bytes(b"\0" * 4097)
    assert "whole floats" in str(check_mmap(path, 4096))


@pytest.mark.parametrize("size", [0, -4096, 100])
def test_odd_sizes_are_refused(tmp_path: Path, size: int) -> None:
    with pytest.raises(ApuflowError, match="whole pages"):
        write_mmap(tmp_path / "m", size)


def test_a_full_disk_is_said_and_leaves_nothing(tmp_path: Path) -> None:
    """A file size limit stands for the full disk here: the write fails half way."""
    target = tmp_path / "m"
    code = (
        "import resource, signal, errno, sys\n"
        "from pathlib import Path\n"
        "from apuflow.prepare import data_file\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))\n"
        "errno.ENOSPC = errno.EFBIG\n"
        "try:\n    data_file.write_mmap(Path(sys.argv[1]), 8 << 20)\n"
        "except Exception as error:\n    print(type(error).__name__, error)\n"
    )
    shown = subprocess.run(
        [sys.executable, "-c", code, target], capture_output=True, text=True, check=True
    ).stdout
    assert "ApuflowError no space for the data file" in shown
    assert not list(tmp_path.iterdir())
