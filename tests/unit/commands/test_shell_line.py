"""What of a pasted line is the command, as a shell reads it (POSIX Shell Command Language, bash's manual)."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from apuflow.configure.command_line import explain
from apuflow.configure.shell_line import command_of
from apuflow.core.errors import ConfigError

RUN = "gem5.opt apu_se.py -n3 -u 8"
WORDS = ["gem5.opt", "apu_se.py", "-n3", "-u", "8"]

LINES = [
    f"{RUN} 1>simout 2>simerr",
    f"{RUN} 1> simout 2> simerr",
    f"{RUN}&&true",
    f"{RUN} >log 2>&1",
    f"{RUN} &>log",
    f"{RUN} >& log",
    f"{RUN} >> log",
    f"{RUN} >| log",
    f"{RUN} < input",
    f"{RUN} <<< text",
    f"{RUN} <<EOF\ntext\nEOF\n",
    f"{RUN} > >(tee log) 2> >(tee err >&2)",
    f"{RUN} |& tee prog.log &",
    f"{RUN}|tee log",
    f"{RUN} | tee log; echo --done",
    f"{RUN};echo done",
    f"{RUN} && echo done || echo failed",
    f"{RUN} &",
    f"{RUN} # -u 16 was too slow",
    f"({RUN})",
    f"cd gem5 && {RUN}",
    f"cd gem5; {RUN}",
    f"mkdir out\n{RUN}\necho done",
    f"2>err >out {RUN}",
    "gem5.opt apu_se.py \\\n  -n3 -u 8",
    "gem5.opt apu_se.py '-n3' \"-u\" \\8",
    f'bash -c "{RUN} > log"',
    f"bash -c 'cd .; {RUN}' 2>&1 | tee log",
    f"out=$({RUN} 2>&1)",
    f"out=`{RUN}`",
]


@pytest.mark.parametrize("line", LINES)
def test_what_belongs_to_the_shell_is_left_out(line: str) -> None:
    assert command_of(line, "apu_se.py") == WORDS


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
@pytest.mark.parametrize("line", LINES)
def test_bash_gives_the_program_the_same_words(line: str, tmp_path: Path) -> None:
    program = tmp_path / "gem5.opt"
    program.write_text(f'#!/bin/sh\nfor word in gem5.opt "$@"; do echo "$word"; done >> {tmp_path}/words\n')
    program.chmod(0o755)
    (tmp_path / "gem5").mkdir()
    (tmp_path / "input").touch()
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
    subprocess.run(
        ["bash", "-c", f"{line}\nwait"], cwd=tmp_path, env=environment, capture_output=True, check=False
    )
    assert (tmp_path / "words").read_text().splitlines() == WORDS


@pytest.mark.parametrize(
    "before",
    [
        "OMP_NUM_THREADS=1 ",
        "time ",
        "nohup ",
        "srun -n1 -c 2 ",
        "env A=1 nice -n 10 ",
        "docker run --rm -v ${PWD}:${PWD} -w ${PWD} image ",
        "for u in 8 16; do ",
    ],
)
def test_what_starts_gem5_is_none_of_its_options(before: str) -> None:
    explained = explain(f"{before}{RUN} > log", "v23.0")
    assert [word.text for word in explained.words] == ["-n3", "-u 8"]
    assert explained.gem5[-1] == "gem5.opt"


@pytest.mark.parametrize(
    "line",
    [
        f'docker run image bash -c "cd /gem5 && {RUN}" > log',
        f"sbatch --wrap='{RUN} 2>&1'",
        f'ssh host "nohup {RUN} > log 2>&1 &"',
        f"docker run image bash -c \"srun bash -c '{RUN}'\"",
    ],
)
def test_a_command_in_quotation_marks_is_found(line: str) -> None:
    assert [word.effect for word in explain(line, "v23.0").words] == ["set", "set"]


def test_the_programs_own_arguments_may_hold_anything() -> None:
    explained = explain("apu_se.py -n3 -c prog --options='-f in > out; apu_se.py # | $x' > log", "v23.0")
    assert [word.effect for word in explained.words] == ["set", "workload", "workload"]
    assert explained.words[2].value == "-f in > out; apu_se.py # | $x"


def test_a_value_that_the_shell_gives_is_not_judged() -> None:
    explained = explain("for u in 4 8; do apu_se.py -n3 -u $u --num-tccs=$(nproc) $MORE; done", "v23.0")
    assert [word.effect for word in explained.words] == ["set", "shell", "shell", "shell"]
    assert dict(explained.machine) == {"num-cpus": 3}


@pytest.mark.parametrize(
    "line", ["apu_se.py -c 'prog", 'apu_se.py -o "x', "apu_se.py -u $(nproc", "apu_se.py `x"]
)
def test_what_is_not_closed_is_refused(line: str) -> None:
    with pytest.raises(ConfigError, match="cannot be split"):
        explain(line, "v23.0")


@pytest.mark.parametrize(
    ("line", "effect"), [("-n1", "set"), ("-n2", "set"), ("-n80", "set"), ("-n0", "refused")]
)
def test_cpu_cores_that_gem5_starts_with_are_not_refused(line: str, effect: str) -> None:
    """Options.py: any int. apu_se.py takes the first core, so one is the least; two cores share a CorePair.

    A ROCm program needs three, which is this workflow's limit.
    """
    [word] = explain(f"apu_se.py {line}", "v23.1").words
    assert word.effect == effect
    assert explain(f"apu_se.py {line}", "v23.1").machine == {}


def test_more_core_pairs_than_rubys_sets_hold_are_refused() -> None:
    """130 cores are 65 pairs (GPU_VIPER.py), one more than 64 bits; 128 are 64."""
    effects = [explain(f"apu_se.py -n{cores}", "v23.1").words[0].effect for cores in (128, 130)]
    assert effects == ["set", "refused"]


def test_a_line_of_another_script_is_refused_behind_a_cd_too() -> None:
    with pytest.raises(ConfigError, match="not a command line"):
        explain("cd gem5 && gem5.opt configs/example/se.py -n3", "v23.0")


def test_a_line_may_begin_with_an_option_behind_a_cd() -> None:
    assert [word.text for word in explain("cd gem5; --dgpu -u 8 > log", "v23.0").words][:2] == [
        "--dgpu",
        "-u 8",
    ]
