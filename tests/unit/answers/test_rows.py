"""Hashes over rows of statistics."""

from __future__ import annotations

from pathlib import Path

from apuflow.answers.prove import row_hashes

BLOCK = """
---------- Begin Simulation Statistics ----------
simTicks                                      1000                       # Number of ticks simulated (Tick)
hostSeconds                                   0.25                       # Real time elapsed (Second)
hostInstRate                                  4000                       # Instructions per second
system.cpu3.shaderActiveTicks                  500                       # Total ticks (Unspecified)
system.cpu3.CUs.numInstrExecuted                42                       # instructions
system.cpu0.numCycles                          900                       # cycles
system.l1_tlb.localNumTLBAccesses                7                       # accesses
system.l1_coalescer.coalescedAccesses            7                       # accesses
system.ruby.network.msg_count.Control            3
system.ruby.tcp_cntrl0.L1cache.m_demand_hits     5                       # hits
system.mem_ctrls.dram.rdQLenPdf::0               6                       # reads

---------- End Simulation Statistics   ----------
"""


def hashes(directory: Path, text: str) -> dict[str, str]:
    file = directory / "stats.txt"
    file.write_text(text)
    return row_hashes([file])


def test_rows_are_counted_by_part_of_the_machine_and_those_of_the_host_left_out(tmp_path: Path) -> None:
    """By hand: simTicks belongs to no part; the shader is cpu3, so cpu0 is the CPU."""
    found = {name: int(text.partition(":")[0]) for name, text in hashes(tmp_path, BLOCK * 2).items()}
    assert found == {
        "gpu": 4, "translation": 4, "cpu": 2, "network": 2, "caches": 2, "memory": 2, "other": 2,
    }  # fmt: skip


def test_a_number_changes_the_hash_of_its_part_and_no_other(tmp_path: Path) -> None:
    before = hashes(tmp_path, BLOCK)
    for was, becomes, part in (("900 ", "901 ", "cpu"), ("42 ", "43 ", "gpu"), (" 6 ", " 7 ", "memory")):
        after = hashes(tmp_path, BLOCK.replace(was, becomes))
        assert [name for name in before if before[name] != after[name]] == [part]


def test_time_of_the_host_and_words_of_a_description_change_nothing(tmp_path: Path) -> None:
    other = BLOCK.replace("0.25", "9.75").replace("4000", "1234").replace("# cycles", "# cycles of the CPU")
    assert hashes(tmp_path, other) == hashes(tmp_path, BLOCK)
