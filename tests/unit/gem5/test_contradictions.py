"""Rows that gem5's own formulas and counts contradict are named, whoever reads the file.

Expected sums are gem5's: src/sim/root.cc (simTicks is curTick - startTick, finalTick curTick), tlb.cc,
tlb_coalescer.cc, compute_unit.cc, mem_interface.cc.
"""

from __future__ import annotations

import lzma
import re
from pathlib import Path

import pytest
from gem5_text import one_after_another
from places import STATS

from apuflow.core.errors import AnalysisError
from apuflow.gem5.stats.reader import iter_dumps
from apuflow.run.proof import read_proof
from apuflow_analysis.counters.counters import counters

TEXT = lzma.decompress((STATS / "bn_bwd-9x64x1x1-u2-bwscalor1.txt.xz").read_bytes())


def _written(directory: Path, text: bytes) -> Path:
    file = directory / "stats.txt"
    file.write_bytes(text)
    return file


@pytest.mark.parametrize(
    ("row", "was", "became"),
    [
        ("simTicks", "486623500", "786623500"),
        ("simTicks", "486623500", "476623500"),
        ("system.l1_tlb0.localNumTLBHits", "1592", "7592"),
        ("system.l1_coalescer0.coalescedAccesses", "1600", "1200"),
        ("system.mem_ctrls.dram.readBursts", "1697", "7697"),
        ("system.mem_ctrls.dram.bytesRead::total", "150912", "150913"),
        ("system.cpu3.CUs0.completedWfs", "32", "72"),
        ("system.cpu3.CUs0.threadCyclesVALU", "30400", "30500"),
        ("system.cpu3.CUs0.globalReads", "1248", "1249"),
    ],
)
def test_a_digit_that_became_another_is_named_by_both_readers(
    tmp_path: Path, row: str, was: str, became: str
) -> None:
    old = re.search(rb"^%s +%s " % (re.escape(row).encode(), was.encode()), TEXT, re.M)
    assert old is not None
    file = _written(
        tmp_path, TEXT.replace(old[0], old[0].replace(f" {was} ".encode(), f" {became} ".encode()))
    )
    assert "contradict each other" in (read_proof(file).problem or "")
    assert counters(iter_dumps(file)).broken


def test_rows_of_an_object_of_another_run_are_named(tmp_path: Path) -> None:
    """The directory's and a TCP's rows of a run of equal shape: 2 compute units, one directory."""
    other = lzma.decompress((STATS / "softmax_fwd-100x1000x1x1-u2.txt.xz").read_bytes())
    for name in (b"system.ruby.dir_cntrl0", b"system.ruby.tcp_cntrl0"):
        rows = re.compile(rb"(?:^%s\..*\n)+" % re.escape(name), re.M)
        [own], [foreign] = rows.findall(TEXT), rows.findall(other)
        file = _written(tmp_path, TEXT.replace(own, foreign))
        said = name.decode().removeprefix("system.").removesuffix("0")
        assert said in (read_proof(file).problem or "")
        assert any(said in str(broken) for broken in counters(iter_dumps(file)).broken)


def test_dumps_without_a_reset_between_them_are_not_added_up(tmp_path: Path) -> None:
    later = re.sub(
        rb"^((?:finalTick|simTicks) +)(\d+)", lambda m: b"%s%d" % (m[1], int(m[2]) + 1000), TEXT, flags=re.M
    )
    file = _written(tmp_path, TEXT + later)
    for source in (file, iter_dumps(file)):
        with pytest.raises(AnalysisError, match="dump 2 counts again what dump 1 counted"):
            counters(source)
    both = counters(_written(tmp_path, one_after_another(TEXT, TEXT)))
    assert both["instructions"] == 2 * counters(_written(tmp_path, TEXT))["instructions"]


def test_several_gpus_in_one_file_are_refused_by_name(tmp_path: Path) -> None:
    rows = b"".join(re.findall(rb"^system\.cpu3\..*\n", TEXT, re.M))
    end = b"\n---------- End"
    file = _written(tmp_path, TEXT.replace(end, rows.replace(b"system.cpu3.", b"system.cpu4.") + end))
    with pytest.raises(AnalysisError, match="2 GPUs") as caught:
        counters(file)
    assert "system.cpu3, system.cpu4" in str(caught.value)
    assert "system.cpu3, system.cpu4" in (read_proof(file).problem or "")


def test_a_gpu_with_unknown_surroundings_is_refused(tmp_path: Path) -> None:
    """gem5's standard library names its objects after its board: caches would read as 0."""
    with pytest.raises(AnalysisError, match="names that are not known"):
        counters(_written(tmp_path, TEXT.replace(b"system.cpu3.", b"board.gpu0.")))


def test_a_gpu_with_memory_of_its_own_is_read_from_there(tmp_path: Path) -> None:
    """configs/ruby/GPU_VIPER.py, construct_gpudirs: system.gpu_mem_ctrls; mem_ctrls are the host's."""
    rows = b"".join(re.findall(rb"^system\.mem_ctrls\..*\n", TEXT, re.M))
    own = rows.replace(b"system.mem_ctrls.", b"system.gpu_mem_ctrls.")
    host = re.sub(rb"(dram\.bytesRead::total +)150912", rb"\g<1>999999", rows)
    found = counters(_written(tmp_path, TEXT.replace(rows, own + host)))
    assert found["dram_bytes_read"] == 150912
