"""Traces of dispatched kernels, in the words of gem5's gpu_command_processor.cc and dispatcher.cc."""

from __future__ import annotations

import re
from pathlib import Path

from apuflow.core.record import DispatchRecord
from apuflow.run.kernel_trace import parse_trace, read_trace

PROCESSOR = "system.cpu3.gpu_cmd_proc"
TRACE = f"""\
     1000: {PROCESSOR}: kernobj vaddr 0x7ffff7a3c000 paddr 0x7ffff7a3c000 size 256 s:1
     1000: {PROCESSOR}: GPU machine code is 256 bytes from start of the kernel object
     1000: {PROCESSOR}: Kernel name: Blit kernel
     1000: {PROCESSOR}: Task ID: 0 Got AQL: wg size (64x1x1), grid size (4096x1x1) kernarg addr: \
0x7ffff7e00000, completion signal addr:0
     1000: {PROCESSOR}: Extracted code object: Blit kernel (num vector regs: 12, num scalar regs: 16, \
code addr: 0x7ffff7a3c100, kernarg size: 0, LDS size: 0)
     2000: {PROCESSOR}: Kernel name: Some kernel
     2000: {PROCESSOR}: Task ID: 1 Got AQL: wg size (8x8x4), grid size (16x16x4) kernarg addr: \
0x7ffff7e01000, completion signal addr:0x7ffff7f00040
     2000: {PROCESSOR}: Extracted code object: Some kernel (num vector regs: 24, num scalar regs: 32, \
code addr: 0x7ffff7b00100, kernarg size: 0, LDS size: 0)
     5000: {PROCESSOR}.dispatcher: Launched kernel 0
     7000: {PROCESSOR}.dispatcher: Launched kernel 1
     8000: {PROCESSOR}.dispatcher: Launched kernel 0
     9000: {PROCESSOR}.dispatcher: Completed kernel 1
     9000: {PROCESSOR}: Triggering completion signal: 0x7ffff7f00048!
    12000: {PROCESSOR}.dispatcher: Completed kernel 0
"""


def test_every_dispatch_has_its_size_and_its_time() -> None:
    """Two kernels at a time; the first is tried again for want of room."""
    assert parse_trace(TRACE.splitlines()) == (
        DispatchRecord(
            name="Blit kernel",
            grid=(4096, 1, 1),
            workgroup=(64, 1, 1),
            arguments=0x7FFFF7E00000,
            code=0x7FFFF7A3C100,
            vector_registers=12,
            scalar_registers=16,
            submitted=1000,
            launched=5000,
            completed=12000,
        ),
        DispatchRecord(
            name="Some kernel",
            grid=(16, 16, 4),
            workgroup=(8, 8, 4),
            arguments=0x7FFFF7E01000,
            code=0x7FFFF7B00100,
            vector_registers=24,
            scalar_registers=32,
            submitted=2000,
            launched=7000,
            completed=9000,
        ),
    )


def test_gem5_after_v24_0_says_more_of_a_launch() -> None:
    """``Launched kernel %d for WG %d`` in dispatcher.cc of gem5's commit c91af552 (develop, October 2024)."""
    later = re.sub(r"(Launched kernel \d)$", r"\1 for WG 1", TRACE, flags=re.MULTILINE)
    assert later.count(" for WG 1\n") == 3
    assert parse_trace(later.splitlines()) == parse_trace(TRACE.splitlines())


def test_a_cut_trace_yields_what_it_holds_and_no_trace_nothing(tmp_path: Path) -> None:
    file = tmp_path / "kernels.trace"
    assert read_trace(file) == ()
    for length in range(len(TRACE)):
        assert len(parse_trace(TRACE[:length].splitlines())) <= 2
    file.write_text(TRACE[: TRACE.index("     8000")])
    begun = read_trace(file)
    assert [(one.launched, one.completed) for one in begun] == [(5000, None), (7000, None)]
    file.write_bytes(b"\xff\0 nonsense\n 5: x: Completed kernel 7\n 5: x: Launched kernel 7\n")
    assert read_trace(file) == ()


def test_when_the_workgroups_began() -> None:
    """Two units with room for two; lines of shader.cc (``dispatchWorkgroups``) and dispatcher.cc."""
    shader, dispatcher = "system.cpu3", f"{PROCESSOR}.dispatcher"
    begins = [
        (3000, 0),
        (3000, 1),
        (3000, 2),
        (3000, 3),
        (6000, 4),
        (7000, 5),
        (7000, 6),
        (8000, 7),
        (9000, 8),
    ]
    lines = TRACE.splitlines()[:5]
    for number, (tick, workgroup) in enumerate(begins):
        if number >= 4:
            lines.append(f"{tick}: {dispatcher}: WG Complete cycle:{tick} wg:{number - 4} kernel:0 cu:1")
        lines.append(f"{tick}: {dispatcher}: Attempt Kernel Launch cycle:{tick} kernel:0")
        lines.append(f"{tick}: {shader}: WG Begin cycle:{tick} wg:{workgroup} cu:{workgroup % 2}")
        lines.append(f"{tick}: {shader}: Shader Dispatched 1 Wgs")
    [found] = parse_trace(lines)
    assert (found.held, found.fillings) == (4, (3000.0, 7000.0))
    [untraced] = parse_trace(TRACE.splitlines()[:5])
    assert (untraced.held, untraced.fillings) == (None, ())
