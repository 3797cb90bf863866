"""The command line of a simulation, as values."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

import pytest

from apuflow.core.errors import ConfigError
from apuflow.run.command import (
    Gem5,
    Guest,
    command_script,
    environment_file,
    gem5_command,
    refuse_redirected,
    rocm_environment,
)

GEM5 = Gem5(Path("/g/gem5.opt"), Path("/g/configs/example/apu_se.py"))


GUEST = Guest(
    Path("/d/test_fwd_softmax"), "dnnmark_test_fwd_softmax", ("-config", "w.dnnmark", "-debuginfo", "1")
)


def command(**options: object) -> tuple[str, ...]:
    return gem5_command(GEM5, options, GUEST, Path("/run"))  # type: ignore[arg-type]


def test_gem5s_own_options_come_before_the_script_and_the_scripts_after() -> None:
    assert command(**{"num-compute-units": 8, "tcp-size": "16kB"}) == (
        "/g/gem5.opt", "-r", "-e", "-d", "/run/m5out",
        "--stats-file=stats.txt", "--dot-config=", "--json-config=",
        "--debug-flags=GPUKernelInfo,GPUCommandProc", "--debug-file=kernels.trace",
        "/g/configs/example/apu_se.py", "--num-compute-units=8", "--tcp-size=16kB",
        "--env=/run/guest.env", "--benchmark-root=/d/test_fwd_softmax", "--cmd=dnnmark_test_fwd_softmax",
        "--options=-config w.dnnmark -debuginfo 1",
    )  # fmt: skip


def test_a_gem5_that_cannot_trace_is_not_asked_to() -> None:
    fast = Gem5(Path("/g/gem5.fast"), Path("/g/configs/example/apu_se.py"), traces=False)
    words = gem5_command(fast, {}, GUEST, Path("/run"))
    assert not [word for word in words if word.startswith("--debug")]


def test_workgroups_are_traced_where_that_is_asked_for() -> None:
    gem5 = Gem5(Path("/g/gem5.opt"), Path("/g/configs/example/apu_se.py"))
    words = gem5_command(gem5, {}, GUEST, Path("/run"), trace_workgroups=True)
    assert "--debug-flags=GPUKernelInfo,GPUCommandProc,GPUWgLatency" in words


def test_flags_are_given_or_left_out() -> None:
    words = command(dgpu=True, noL1=False, **{"mem-ranks": None, "bw-scalor": 0})
    assert "--dgpu" in words
    assert "--bw-scalor=0" in words
    assert not [word for word in words if word.startswith(("--noL1", "--mem-ranks"))]


@pytest.mark.parametrize("argument", ["a b", "", "tab\there", "new\nline", " lead"])
def test_an_argument_that_cannot_reach_the_guest_is_refused(argument: str) -> None:
    guest = Guest(Path("/d"), "p", (argument,))
    with pytest.raises(ConfigError, match="white space"):
        gem5_command(GEM5, {}, guest, Path("/run"))


@pytest.mark.parametrize("name", ["--sneaky", "a=b", "a b", "-r"])
def test_an_option_name_cannot_smuggle_another_option(name: str) -> None:
    with pytest.raises(ConfigError, match=r"not an apu_se\.py option"):
        command(**{name: 1})


def test_the_guest_gets_apu_ses_environment_with_our_home() -> None:
    variables = rocm_environment(Path("/run/home"), {"HSA_ENABLE_SDMA": "1", "OMP_NUM_THREADS": "2"})
    assert variables["HOME"] == "/run/home"
    assert variables["HSA_ENABLE_INTERRUPT"] == "1"
    assert variables["HSA_ENABLE_SDMA"] == "1"  # the workload's own setting wins
    assert variables["LD_LIBRARY_PATH"].split(":")[0] == "/opt/rocm/lib"
    assert environment_file({"A": "1", "B": "x y"}) == "A=1\nB=x y\n"


@pytest.mark.parametrize(
    ("name", "value"), [("A=B", "1"), ("", "1"), ("A", "1\n2"), ("A\n", "1"), ("A", "1 ")]
)
def test_variables_that_a_line_cannot_hold_are_refused(name: str, value: str) -> None:
    with pytest.raises(ConfigError):
        environment_file({name: value})


def test_the_script_runs_any_words_unchanged(tmp_path: Path) -> None:
    words = ("/usr/bin/printf", "%s\\n", "a b", "$HOME", "`id`", "it's", '"', ";rm -rf", "*")
    directory = tmp_path / "it's $(here)"
    directory.mkdir()
    script = command_script(words, directory, "a note\nwith two lines")
    shown = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True).stdout
    assert shown.splitlines() == list(words[2:])
    assert shlex.split(script, comments=True)[:2] == ["cd", str(directory)]


@pytest.mark.parametrize("place", ["/tmp/project", "/tmpfiles/project", "/proc/x", "/sys"])
def test_places_that_the_guest_cannot_see_are_refused(place: str) -> None:
    with pytest.raises(ConfigError, match="cannot read files below"):
        refuse_redirected(Path(place))


def test_other_places_are_fine() -> None:
    refuse_redirected(Path("/home/user/tmp"))
