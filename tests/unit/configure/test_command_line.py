"""Command lines of apu_se.py, word by word."""

from __future__ import annotations

import pytest
from places import ROOT

from apuflow.configure import load_machine, load_release, option_rules
from apuflow.configure.command_line import Word, as_meant, explain, link_bytes, tcc, used
from apuflow.core.errors import ConfigError

PUBLISHED = (
    "-n3 --dgpu --gfx-version=gfx900 --num-compute-units=60 --cu-per-sa=15 --num-gpu-complex=4 "
    "--reg-alloc-policy=dynamic --num-tccs=8 --bw-scalor=8 --num-dirs=64 --mem-size=16GB "
    "--mem-type=HBM_2000_4H_1x64 --vreg-file-size=16384 --sreg-file-size=800 --tcc-size=4MB "
    "--tcc-assoc=16 --gpu-clock=1801MHz --ruby-clock=1000MHz --vrf_lm_bus_latency=6 "
    "--mem-req-latency=69 --mem-resp-latency=69 --mandatory_queue_latency=1 --max-cu-tokens=160 "
    "--max-coalesces-per-cycle=10 --sqc-size=16kB --scalar-mem-req-latency=28 --TCP_latency=4 "
    "--tcp-assoc=16 --tcp-num-banks=16 --TCC_latency=121 "
)
"""As the group that maintains the model publishes it (gem5_today.md)."""


def words(line: str, release: str = "v23.0") -> dict[str, Word]:
    return {word.text: word for word in explain(line, release).words}


def test_the_published_machine() -> None:
    """60 CUs of 128 kB are 7680 kB in 8 banks of 960 sets, of which 512 are indexed: 4 MB."""
    explained = explain(PUBLISHED, "v24.0")
    by_effect = {word.text: word.effect for word in explained.words}
    assert by_effect["--tcc-size=4MB"] == "no effect"
    assert by_effect["--num-gpu-complex=4"] == "ignored"
    assert by_effect["--reg-alloc-policy=dynamic"] == "default"
    assert by_effect["--cu-per-sa=15"] == "no effect"  # hsaTopology.py: cu_per_simd_array 16, array_count 4
    assert set(by_effect.values()) == {"set", "default", "ignored", "no effect"}
    lines = list(used(explained))
    assert lines[0].startswith("TCC: 7680kB in 8 banks, of which gem5 can index 4MB")
    assert "7,680 bytes a cycle" in lines[1]
    assert "ROCm of four shader arrays of 16 compute units" in lines[2] and lines[2].endswith("has 60")
    apu = explain("-u 8 --cu-per-sa=4 --gfx-version=gfx902", "v24.0")
    assert "ROCm is told 1 of 4 compute units, the machine has 8" in list(used(apu))[2]


@pytest.mark.parametrize("name", ["vega-like", "vega-like-as-meant"])
def test_the_shipped_machines_are_that_line(name: str) -> None:
    explained = explain(PUBLISHED, "v24.0")
    options = explained.machine if name == "vega-like" else as_meant(explained)[0]
    shipped = load_machine(name, ROOT).options
    assert shipped == {key: value for key, value in options.items() if key != "mem-size"}
    assert not option_rules.check(shipped, load_release("v24.0", ROOT).options_of)


def test_what_was_meant_by_a_size_that_is_not_what_it_comes_to() -> None:
    """8 MB is not the 4 MB that 60 CUs give: gem5 can have the size, or the wide links."""
    explained = explain(PUBLISHED.replace("=4MB", "=8192kB"), "v24.0")
    machine, changes = as_meant(explained)
    assert "bw-scalor" not in machine and machine["tcc-size"] == "8192kB"
    assert "links carry 8 bytes a cycle" in changes[0]
    assert link_bytes(option_rules.resolve(machine, "v24.0")) == 8
    assert tcc(option_rules.resolve(machine, "v24.0")) == (8 << 20, 8 << 20)


def test_words_are_grouped_as_argparse_does() -> None:
    found = words("gem5.opt -d out configs/example/apu_se.py -n3 -u 8 --num-dirs 2 -cbench -o '-x 3' --dgpu")
    assert {text: word.name for text, word in found.items()} == {
        "-n3": "num-cpus",
        "-u 8": "num-compute-units",
        "--num-dirs 2": "num-dirs",
        "-cbench": "cmd",
        "-o -x 3": "options",
        "--dgpu": "dgpu",
    }
    assert explain("gem5.opt -d out apu_se.py -u 8", "v23.0").gem5 == ("gem5.opt", "-d", "out")


@pytest.mark.parametrize(
    ("line", "effect", "said"),
    [
        ("--num-c=4", "unknown", "no such option"),
        ("--no-such=4", "unknown", "no such option"),
        ("bench", "unknown", "no such option"),
        ("--num-tccs=3", "refused", "power of two"),
        ("--num-compute-units=many", "refused", "whole number"),
        ("--checkpoint-dir=x", "refused", "Checkpointing not supported"),
        ("--glc-atomic-latency=1", "unknown", "gem5 v23.0 ends"),
        ("--mesh-rows=4", "ignored", "nothing reads it"),
    ],
)
def test_what_a_word_does(line: str, effect: str, said: str) -> None:
    word = explain(line, "v23.0").words[0]
    assert word.effect == effect
    assert said in word.said


README = "docker run --rm -v ${PWD}:${PWD} -w ${PWD} ghcr.io/gem5/gcn-gpu:v24-0 gem5/build/VEGA_X86/gem5.opt "
RUN = README + "gem5/configs/example/apu_se.py "
GPU = "--benchmark-root=gem5-resources/src/gpu/"
SMALL: dict[str, object] = {"num-cpus": 3}
LARGE = SMALL | {"mem-size": "8GB"}
PROGRAMS: dict[str, tuple[str, dict[str, object]]] = {
    "square": ("-n3 -c bin/square", SMALL),
    "hip-samples": (f"-n 3 {GPU}hip-samples/bin -c MatrixTranspose", SMALL),
    "heterosync": ("-n 3 -c bin/allSyncPrims-1kernel --options='sleepMutex 10 16 4'", SMALL),
    "lulesh": (f'-n 3 --mem-size=8GB {GPU}lulesh/bin -clulesh --options="1.0e-2 10"', LARGE),
    "halo-finder": (
        f'-n3 {GPU}halo-finder/src/hip -cForceTreeTest --options="0.5 0.1 64 0.1 1 N 12 rcb"',
        SMALL,
    ),
    "pennant": (
        f'-n3 {GPU}pennant/build -cpennant --options="gem5-resources/src/gpu/pennant/noh.pnt"',
        SMALL,
    ),
    "pannotia": (f'-n3 --mem-size=8GB {GPU}pannotia/bc/bin -c bc.gem5 --options="1k_128k.gr"', LARGE),
    "DNNMark": (
        f"-n3 {GPU}DNNMark/build/benchmarks/test_fwd_softmax -cdnnmark_test_fwd_softmax "
        '--options="-config softmax_config.dnnmark -mmap mmap.bin"',
        SMALL,
    ),
    "lulesh in upstream's tests": (
        "--download-resource lulesh --download-dir resources --reg-alloc-policy=dynamic -n3 --mem-size=8GB "
        "--dgpu --gfx-version gfx900 -c resources/lulesh --options '0.01 2'",
        LARGE | {"dgpu": True, "gfx-version": "gfx900", "reg-alloc-policy": "dynamic"},
    ),
}
"""As the READMEs of gem5-resources (src/gpu) and gem5's tests/gem5/gpu/test_gpu_apu_se.py start them."""


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_lines_of_gem5_resources(program: str) -> None:
    """Each option is one word with its value; the program and its arguments are the workload's."""
    line, machine = PROGRAMS[program]
    explained = explain(RUN + line, "v24.1")
    assert explained.gem5[-1] == "gem5/build/VEGA_X86/gem5.opt"
    assert {word.effect for word in explained.words} <= {"set", "default", "workload"}
    assert dict(explained.machine) == machine


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("apu_se.py --options -f -n3", "a value is missing"),  # argparse: expected one argument
        ("apu_se.py -n3 --num-tccs", "a value is missing"),
        ("apu_se.py --dgpu=1", "takes no value"),  # argparse: ignored explicit argument
    ],
)
def test_what_argparse_ends_at(line: str, said: str) -> None:
    assert any(word.effect == "refused" and said in word.said for word in explain(line, "v24.0").words)


def test_values_that_begin_with_a_dash() -> None:
    """With a blank in it, or a number: argparse takes it as the value."""
    found = words("apu_se.py -o '-a -b' --xor-low-bit -1")
    assert [(word.name, word.effect) for word in found.values()] == [
        ("options", "workload"),
        ("xor-low-bit", "refused"),
    ]
    assert next(iter(found.values())).value == "-a -b"


def test_a_line_may_be_continued() -> None:
    assert dict(explain("gem5.opt apu_se.py -n 3 \\\n  -u 8", "v24.0").machine) == {
        "num-cpus": 3,
        "num-compute-units": 8,
    }


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("", "no command line"),
        (
            "gem5.opt configs/example/gem5_library/x86-mi300x-gpu.py --image x",
            "not a command line of apu_se.py",
        ),
    ],
)
def test_what_is_no_line_of_apu_se(line: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        explain(line, "v24.0")


def test_the_last_of_a_repeated_option_counts() -> None:
    first, second = explain("-u 8 --num-compute-units=16", "v23.0").words
    assert (first.effect, second.effect) == ("no effect", "set")
    assert explain("-u 8 -u 16", "v23.0").machine["num-compute-units"] == 16


def test_quotation_marks() -> None:
    with pytest.raises(ConfigError, match="cannot be split"):
        explain("apu_se.py -o 'x", "v23.0")
