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
    assert set(by_effect.values()) == {"set", "default", "ignored", "no effect"}
    lines = list(used(explained))
    assert lines[0].startswith("TCC: 7680kB in 8 banks, of which gem5 can index 4MB")
    assert "7,680 bytes a cycle" in lines[1]
    assert "1 of 15 compute units, the machine has 60" in lines[2]


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


def test_the_last_of_a_repeated_option_counts() -> None:
    first, second = explain("-u 8 --num-compute-units=16", "v23.0").words
    assert (first.effect, second.effect) == ("no effect", "set")
    assert explain("-u 8 -u 16", "v23.0").machine["num-compute-units"] == 16


def test_quotation_marks() -> None:
    with pytest.raises(ConfigError, match="cannot be split"):
        explain("apu_se.py -o 'x", "v23.0")
