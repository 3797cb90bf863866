"""A Slurm without accounting: answers in the format of Slurm 22.05's scontrol and sacct."""

from __future__ import annotations

from pathlib import Path

import pytest
from slurm_commands import says, silent
from snakemake_executor_plugin_slurm import ExecutorSettings

from apuflow.core.errors import EngineError
from apuflow.plan.workarounds import check_states_are_known


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return silent(tmp_path, monkeypatch)


@pytest.mark.parametrize(
    ("accounting", "age", "command", "refused"),
    [
        (True, 300, "sacct", None),
        (True, 2, None, None),
        (False, 300, "squeue", None),
        (False, 300, "sacct", "--slurm-status-command squeue"),
        (False, 300, None, "--slurm-status-command squeue"),
        (False, 119, "squeue", "MinJobAge=120"),
        (False, 119, "sacct", "--slurm-init-seconds-before-status-checks 39"),
    ],
)
def test_jobs_whose_end_nobody_would_hear_of_are_not_submitted(
    slurm: Path, accounting: bool, age: int, command: str | None, refused: str | None
) -> None:
    """Slurm's default MinJobAge is 300; the executor trusts squeue from three times its 40 seconds on."""
    says(slurm, "sacct", "" if accounting else None)
    says(slurm, "scontrol", f"MessageTimeout          = 10 sec\nMinJobAge               = {age} sec\n")
    if refused is None:
        check_states_are_known(ExecutorSettings(status_command=command))
        return
    with pytest.raises(EngineError, match="keeps no accounting") as caught:
        check_states_are_known(ExecutorSettings(status_command=command))
    assert refused in str(caught.value.remedy)


def test_a_controller_that_does_not_answer_is_left_to_sbatch(slurm: Path) -> None:
    """Slurm's programs are installed, and no cluster is there: every one of them fails."""
    for program in ("sacct", "scontrol"):
        says(slurm, program, None)
    check_states_are_known(ExecutorSettings())
