"""Scripts of rules in forks of one process that has loaded what they need."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from apuflow.core.errors import EngineError
from apuflow.core.forked import Forks

SCRIPT = """
import os, sys
from pathlib import Path

Path(snakemake.output[0]).write_text(f"{os.getpid()} {os.getppid()} {'snakemake.cli' in sys.modules}")
if snakemake.threads > 1:
    sys.exit(1)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="forks of a process that has loaded libraries")
def test_scripts_run_in_forks_of_a_process_that_is_not_this_one(tmp_path: Path) -> None:
    (tmp_path / "some.py").write_text(SCRIPT)
    forks, seen = Forks(tmp_path), []
    for number in range(2):
        file = tmp_path / f"{number}.txt"
        forks.run("some", output=[str(file)], log=["some.log"], threads=1)
        seen.append(file.read_text().split())
    assert seen[0][0] != seen[1][0] and seen[0][1] == seen[1][1] and seen[0][2] == "True"


def test_a_script_that_fails_is_named_with_its_log(tmp_path: Path) -> None:
    (tmp_path / "some.py").write_text(SCRIPT)
    with pytest.raises(EngineError, match="some failed") as caught:
        Forks(tmp_path).run("some", output=[str(tmp_path / "x")], log=["some.log"], threads=2)
    assert caught.value.file == "some.log"


@pytest.mark.skipif(sys.platform != "linux", reason="forks of a process that has loaded libraries")
def test_scripts_that_threads_run_at_once_all_end_well(tmp_path: Path) -> None:
    """Snakemake runs each job in a thread. Of two threads that read one exit status, one reads 255."""
    (tmp_path / "some.py").write_text("")
    forks = Forks(tmp_path)
    with ThreadPoolExecutor(8) as pool:
        ended = [pool.submit(forks.run, "some", output=["x"], log=["some.log"]) for _ in range(64)]
    assert [each.exception() for each in ended] == [None] * 64
