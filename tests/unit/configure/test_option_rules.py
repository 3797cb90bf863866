"""The option catalogue against gem5's own sources, and what it refuses."""

from __future__ import annotations

import argparse
import json
import lzma
import os
from pathlib import Path
from typing import Any

import apu_se_sources
import needs
import pytest
from places import DATA

from apuflow.configure import catalogue, option_rules
from apuflow.core.errors import ConfigError
from apuflow.run.command import Gem5, Guest, gem5_command

RELEASES = catalogue.RELEASES


@pytest.fixture(scope="module")
def upstream() -> dict[str, dict[str, dict[str, Any]]]:
    """apu_se.py's options per release, read out of gem5's sources (see apu_se_sources.py)."""
    path = DATA / "apu_se_options.json.xz"
    return dict(json.loads(lzma.decompress(path.read_bytes())))


@pytest.mark.parametrize("release", RELEASES)
def test_every_option_of_a_release_is_known_and_no_other(upstream: Any, release: str) -> None:
    ours = {name for name, option in catalogue.catalogue().items() if option.known_to(release)}
    assert ours == set(upstream[release])


@pytest.mark.parametrize("release", RELEASES)
def test_defaults_are_those_of_apu_se(upstream: Any, release: str) -> None:
    for name, option in catalogue.catalogue().items():
        if option.role != "machine" or not option.known_to(release):
            continue
        there = upstream[release][name]
        if option.type == "flag":
            assert there["action"] in ("store_true", "store_false"), name
            assert option.default_at(release) is False, name
        else:
            expected = there.get("default")
            if option.type == "int" and expected is not None:
                assert there["type"] == "int", name
                expected = int(expected)
            assert option.default_at(release) == expected, name


@pytest.mark.parametrize("release", RELEASES)
def test_short_names_and_flags_are_those_of_apu_se(upstream: Any, release: str) -> None:
    for name, there in upstream[release].items():
        option = catalogue.catalogue()[name]
        assert option.short == there.get("short"), name
        if there.get("action") in ("store_true", "store_false"):
            assert option.type == "flag", name


READ_WITHOUT_EFFECT = {
    "access-backing-store": "apu_se.py sets it to True after parsing",
    "chroot": "apu_se.py replaces system.redirect_paths",
    "redirects": "apu_se.py replaces system.redirect_paths",
    "cpu-clock": "written into the guest's /proc/cpuinfo only",
    "topology": "recorded in the network; GPU_VIPER.create_system returns its own clusters",
    "mfma-scale": "scales the cycles of MFMA instructions, which gfx900 and gfx902 do not have",
    "mesh-rows": "garnet's number of rows, of a mesh that GPU_VIPER never makes",
}


@pytest.mark.parametrize("release", RELEASES)
def test_ignored_options_are_those_that_nothing_reads(upstream: Any, release: str) -> None:
    for name, there in upstream[release].items():
        role = catalogue.catalogue()[name].role
        if role == "ignored":
            assert not there["read"] or name in READ_WITHOUT_EFFECT, name
        else:
            assert there["read"], name


@pytest.mark.gem5
@pytest.mark.skipif("APUFLOW_TEST_GEM5" not in os.environ, reason=needs.GEM5.reason)
@pytest.mark.parametrize("release", apu_se_sources.TAGS)
def test_the_recorded_options_are_those_of_the_sources(upstream: Any, release: str) -> None:
    repository = str(Path(os.environ["APUFLOW_TEST_GEM5"]).resolve().parents[2])
    assert apu_se_sources.options(repository, apu_se_sources.TAGS[release]) == upstream[release]


@pytest.mark.parametrize("release", RELEASES)
def test_the_defaults_of_a_release_can_run_on_it(release: str) -> None:
    assert option_rules.check({}, release) == ()
    assert option_rules.check(option_rules.defaults(release), release) == ()


@pytest.mark.parametrize(
    ("name", "before", "release", "after"),
    [
        ("reg-alloc-policy", "simple", "v22.0", "dynamic"),
        ("gfx-version", "gfx801", "v24.0", "gfx902"),
        ("cpu-type", "TimingSimpleCPU", "v23.1", "X86TimingSimpleCPU"),
        ("L1TLBentries", 64, "v25.0", 32),  # pull request 1769
    ],
)
def test_defaults_that_changed(name: str, before: str | int, release: str, after: str | int) -> None:
    previous = RELEASES[RELEASES.index(release) - 1]
    assert option_rules.defaults(previous)[name] == before
    assert option_rules.defaults(release)[name] == after


@pytest.mark.parametrize(
    ("given", "release", "option", "said"),
    [
        # accepted by apu_se.py, read by nothing
        ({"cpu-clock": "3GHz"}, "v22.1", "cpu-clock", "use CPUClock"),
        ({"mem-channels": 4}, "v22.1", "mem-channels", "use num-dirs"),
        ({"param": "system.cpu.x=1"}, "v22.1", "param", "ignores"),
        ({"sreg-min-alloc": 8}, "v22.1", "sreg-min-alloc", "vreg-min-alloc"),
        ({"num-gpu-complexes": 2}, "v22.1", "num-gpu-complexes", "sa-per-complex"),
        ({"tcc-num-banks": 8}, "v23.1", "tcc-num-banks", "use num-tccs"),
        (
            {"topology": "Mesh_XY"},
            "v22.1",
            "topology",
            "leave it out (the VIPER protocol",
        ),
        # accepted, and then it breaks
        ({"checkpoint-dir": "x"}, "v22.1", "checkpoint-dir", "not supported"),
        ({"numa-high-bit": 20}, "v22.1", "numa-high-bit", "num-dirs"),
        ({"num-tccs": 3}, "v22.1", "num-tccs", "2 or 4"),
        ({"num-dirs": 6}, "v22.1", "num-dirs", "4 or 8"),
        ({"glb-mem-pipes-per-cu": 2}, "v22.1", "glb-mem-pipes-per-cu", "one of 1"),
        ({"num-cpus": 2}, "v22.1", "num-cpus", "3 to"),
        ({"wf-size": 32}, "v22.1", "wf-size", "64"),
        ({"registerManagerPolicy": "dynamic"}, "v22.1", "registerManagerPolicy", "static"),
        ({"vreg-file-size": 2047}, "v22.1", "vreg-file-size", "multiple of 2"),
        ({"vreg-file-size": 250}, "v22.1", "vreg-file-size", "multiple of vreg-min-alloc (4)"),
        ({"cu-per-sa": 3}, "v22.1", "cu-per-sa", "num-compute-units"),
        ({"sa-per-complex": 2}, "v22.1", "sa-per-complex", "num-compute-units"),
        ({"num-compute-units": 0}, "v22.1", "num-compute-units", "1 to"),
        ({"lds-size": 2**40}, "v22.1", "lds-size", "2147483647"),
        # releases
        ({"mem-req-latency": 60}, "v22.0", "mem-req-latency", "v22.1 to v25.0"),
        ({"scalar-buffer-size": 64}, "v24.0", "scalar-buffer-size", "v21.1 to v23.1"),
        ({"cpu-type": "TimingSimpleCPU"}, "v23.1", "cpu-type", "X86TimingSimpleCPU"),
        ({"mem-type": "DDR5_4400_4x8"}, "v22.1", "mem-type", "DDR4_2400_16x4"),
        # between options
        ({"gfx-version": "gfx803"}, "v22.1", "gfx-version", "dgpu: true"),
        ({"dgpu": True}, "v22.1", "gfx-version", "gfx803"),
        ({"TLB-config": "2CU", "num-compute-units": 5}, "v22.1", "TLB-config", "even"),
        ({"bw-scalor": 1, "tcc-size": "1MB"}, "v22.1", "tcc-size", "no effect"),
        ({"dgpu": True, "gfx-version": "gfx803", "m-type": 3}, "v22.1", "m-type", "dgpu"),
        ({"pf-type": "PF_CU"}, "v22.1", "pf-type", "TLB-prefetch"),
        ({"vcs-per-vnet": 8}, "v22.1", "vcs-per-vnet", "garnet"),
        # spelling and types
        ({"numLDSBanks": 16}, "v22.1", "numLDSBanks", "did you mean numLdsBanks"),
        ({"u": 4}, "v22.1", "u", "num-compute-units"),
        ({"CUs": 4}, "v22.1", "CUs", "did you mean num-compute-units (compute units"),
        ({"l2-size": "1MB"}, "v22.1", "l2-size", "did you mean tcc-size (TCC in all, "),
        ({"l2-size": "1MB"}, "v22.1", "l2-size", "or l2_size (L2 cache of a CPU)?"),
        ({"gfx-version": "gfx906"}, "v23.0", "gfx-version", "releases v24.0 and v24.1 run gfx906"),
        ({"tcc_size": "1MB"}, "v22.1", "tcc_size", "did you mean tcc-size"),
        ({"tcc-size": "1KB"}, "v22.1", "tcc-size", "16kB"),
        ({"tcc-size": 0}, "v22.1", "tcc-size", "above zero"),
        ({"gpu-clock": "fast"}, "v22.1", "gpu-clock", "1GHz"),
        ({"dgpu": 1}, "v22.1", "dgpu", "true or false"),
        ({"num-tccs": True}, "v22.1", "num-tccs", "whole number"),
        ({"num-tccs": "4"}, "v22.1", "num-tccs", "whole number"),
        ({"tcp-rp": "x; rm -rf /"}, "v24.0", "tcp-rp", "letters"),
        ({"cmd": "x"}, "v22.1", "cmd", "set by the workload"),
    ],
)
def test_what_cannot_work_is_refused_with_the_way_out(
    given: dict[str, Any], release: str, option: str, said: str
) -> None:
    problems = option_rules.check(given, release)
    assert [problem.option for problem in problems] == [option]
    assert said in f"{problems[0].message} {problems[0].remedy}"


def test_every_problem_is_listed_not_only_the_first() -> None:
    problems = option_rules.check({"num-tccs": 3, "num-dirs": 5, "foo": 1}, "v22.1")
    assert {problem.option for problem in problems} == {"num-tccs", "num-dirs", "foo"}


def test_one_value_has_one_spelling() -> None:
    assert option_rules.canonical("tcc-size", "1024kB") == option_rules.canonical("tcc-size", "1MB") == "1MB"
    assert option_rules.canonical("tcc-size", 65536) == "64kB"
    assert (
        option_rules.canonical("gpu-clock", "1000MHz") == option_rules.canonical("gpu-clock", "1ns") == "1GHz"
    )
    assert option_rules.resolve({"tcc-size": "0256kB"}, "v22.1")["tcc-size"] == "256kB"


GARNET = {
    "link-width-bits": 64,
    "vcs-per-vnet": 8,
    "routing-algorithm": 1,
    "network-fault-model": True,
    "garnet-deadlock-threshold": 64,
}
"""What configs/network/Network.py reads for garnet alone."""


@pytest.mark.parametrize(("name", "value"), GARNET.items())
def test_options_of_garnet_need_garnet(name: str, value: int | bool) -> None:
    [problem] = option_rules.check({name: value}, "v22.1")
    assert (problem.option, problem.message) == (name, "has an effect in garnet only")
    assert option_rules.check({name: value, "network": "garnet"}, "v22.1") == ()


def words_for_apu_se(given: dict[str, Any], release: str) -> list[str]:
    """What a run gives to apu_se.py: the words behind the script in the command of a simulation."""
    command = gem5_command(
        Gem5(Path("/gem5.opt"), Path("/apu_se.py")),
        option_rules.resolve(given, release),
        Guest(Path("/guest"), "program", ("-n", "5")),
        Path("/run"),
    )
    return list(command[command.index("/apu_se.py") + 1 :])


def test_the_command_line_states_defaults_and_gives_flags_only_when_true() -> None:
    line = words_for_apu_se({"dgpu": True, "gfx-version": "gfx803", "num-compute-units": 8}, "v21.1")
    assert "--num-compute-units=8" in line and "--dgpu" in line
    assert "--reg-alloc-policy=simple" in line and "--num-cpus=3" in line
    assert not any(word.startswith(("--FunctionalTLB", "--mem-req-latency")) for word in line)


def parser(declared: dict[str, dict[str, Any]]) -> argparse.ArgumentParser:
    """A parser with the options as apu_se.py of a release declares them."""
    result = argparse.ArgumentParser(exit_on_error=False)
    types = {"int": int, "str": str}
    for name, there in declared.items():
        names = [f"-{there['short']}", f"--{name}"] if "short" in there else [f"--{name}"]
        if there.get("action") in ("store_true", "store_false"):
            result.add_argument(*names, action=there["action"])
        elif name != "help":
            result.add_argument(*names, type=types.get(there.get("type", ""), str))
    return result


@pytest.mark.parametrize("release", RELEASES)
def test_apu_se_takes_the_command_line_and_reads_the_values_back(upstream: Any, release: str) -> None:
    gfx = "gfx900" if release >= "v24.0" else "gfx803"
    given: dict[str, bool | int | str] = {
        "dgpu": True,
        "gfx-version": gfx,
        "no-resource-stalls": True,
        "num-compute-units": 6,
    }
    assert option_rules.check(given, release) == ()
    resolved = option_rules.resolve(given, release)
    arguments = parser(upstream[release]).parse_args(words_for_apu_se(given, release))
    assert (arguments.cmd, arguments.options) == ("program", "-n 5")
    assert (arguments.env, arguments.benchmark_root) == ("/run/guest.env", "/guest")
    assert arguments.no_resource_stalls is False  # store_false: giving the flag switches stalls off
    for name, value in resolved.items():
        if name != "no-resource-stalls":
            read = getattr(arguments, name.replace("-", "_"))
            assert read == value or (value is False and read == (name == "no-tcc-resource-stalls")), name


def test_an_unknown_release_is_an_error_that_lists_the_known_ones() -> None:
    with pytest.raises(ConfigError) as caught:
        option_rules.check({}, "v26.0")
    assert "v24.0" in str(caught.value)


@pytest.mark.parametrize(
    ("given", "wrong"),
    [
        ({}, None),
        ({"tcc-size": "128kB", "num-tccs": 4}, None),
        ({"tcc-size": "96kB"}, "tcc-size"),  # 96 sets of 16 ways of 64 B
        ({"num-tccs": 256}, "num-tccs"),  # 256 kB over 256 banks: one set each
        ({"tcp-assoc": 12}, "tcp-assoc"),  # TreePLRU: fatal_if(!isPowerOf2(numLeaves))
        ({"sqc-size": "512B"}, "sqc-size"),  # CacheMemory::init: assert(m_cache_num_sets > 1)
        ({"l3_size": "10MB"}, "l3_size"),
        ({"l2_size": "64kB", "l2_assoc": 1024}, "l2_size"),
        ({"L1TLBentries": 16}, "L1TLBentries"),  # GpuTLB: assert(assoc <= size), with 32 ways
        ({"L1TLBentries": 16, "L1TLBassoc": 16}, None),
        ({"L2TLBentries": 96}, "L2TLBentries"),  # three sets
        ({"L2TLBentries": 96, "L2TLBassoc": 96}, None),  # fully associative
        ({"tot-L1TLB-size": 16}, None),  # GPUTLBConfig.py lowers the ways
        ({"bw-scalor": 1}, None),
    ],
)
def test_caches_and_tlbs_are_those_that_gem5_can_index(
    given: dict[str, int | str], wrong: str | None
) -> None:
    assert [problem.option for problem in option_rules.check(given, "v23.0")] == ([wrong] if wrong else [])
