"""Texts of a program that failed, in a run that gem5 itself ends with status 0 and whole statistics."""

# ruff: noqa: E501  (texts as they are printed)

from __future__ import annotations

from pathlib import Path

import pytest
from places import DATA

from apuflow.core.record import Status
from apuflow.run.outcome import ExitFacts, Expectation, Outcome, classify

RECORDED = DATA / "gem5_outcomes"
STATISTICS = RECORDED / "ok/stats.txt.xz"
STARTED = "src/sim/simulate.cc:199: info: Entering event queue @ 0.  Starting simulation...\n"
NORMAL = "Ticks: 5068886000\nExiting because  exiting with last active thread context\n"

FAILED = [
    # glibc 2.36: assert/assert.c, malloc/malloc.c, debug/fortify_fail.c, elf/dl-*.c
    "prog: /src/prog.cpp:15: int main(): Assertion `result == expected' failed.",
    "prog: prog.c:3: main: Unexpected error: Permission denied.",
    "Fatal glibc error: malloc assertion failure in sysmalloc: (old_top == initial_top (av) && old_size == 0)",
    "free(): invalid pointer",
    "free(): invalid next size (fast)",
    "free(): double free detected in tcache 2",
    "free(): too many chunks detected in tcache",
    "free(): corrupted unsorted chunks",
    "double free or corruption (!prev)",
    "munmap_chunk(): invalid pointer",
    "mremap_chunk(): invalid pointer",
    "malloc(): corrupted top size",
    "malloc(): invalid size (unsorted)",
    "malloc(): mismatching next->prev_size (unsorted)",
    "malloc(): largebin double linked list corrupted (nextsize)",
    "malloc(): memory corruption (fast)",
    "malloc_consolidate(): unaligned fastbin chunk detected",
    "realloc(): invalid old size",
    "corrupted size vs. prev_size while consolidating",
    "corrupted double-linked list (not small)",
    "tcache_thread_shutdown(): unaligned tcache chunk detected",
    "*** Error in `./prog': free(): invalid next size (normal): 0x0000000000602010 ***",
    "*** stack smashing detected ***: terminated",
    "*** stack smashing detected ***: <unknown> terminated",
    "*** buffer overflow detected ***: terminated",
    "*** longjmp causes uninitialized stack frame ***: terminated",
    "*** %n in writable segment detected ***",
    "FATAL: exception not rethrown",
    "./prog: symbol lookup error: ./prog: undefined symbol: hipInit",
    "./prog: /lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.34' not found (required by ./prog)",
    "./prog: error while loading shared libraries: libamdhip64.so.4: cannot open shared object file",
    # musl 1.2: src/exit/assert.c, ldso/dynlink.c
    "Assertion failed: n > 0 (prog.c: main: 7)",
    "Error relocating ./prog: hipInit: symbol not found",
    # libstdc++ 12, libc++ 17
    "pure virtual method called",
    "deleted virtual method called",
    "terminate called recursively",
    "/usr/include/c++/12/bits/stl_vector.h:1123: reference std::vector<int>::operator[](size_type): Assertion '__n < this->size()' failed.",
    "/usr/include/c++/12/debug/vector:442:\nError: attempt to subscript container with out-of-bounds index 5.",
    "libc++abi: terminating due to uncaught exception of type std::runtime_error: x",
    "/usr/include/c++/v1/vector:1393: assertion __n < size() failed: vector[] index out of bounds",
    # ROCm: HIP, ROCclr, ROCr, MIOpen, rocBLAS, hipBLAS, Tensile; gem5-resources' square.cpp:30
    "error: 'hipErrorNoBinaryForGpu'(209) at square.cpp:50",
    "error: 'invalid argument'(1) at square.cpp:50",
    "hipErrorNoBinaryForGpu: Unable to find code object for all current devices!",
    "Memory access fault by GPU node-1 (Agent handle: 0x55d) on address 0x7f. Reason: Unknown.",
    ":0:rocdevice.cpp            :2660: 1234567 us: Device::callbackQueue aborting with error : HSA_STATUS_ERROR_EXCEPTION",
    "### HCC STATUS_CHECK Error: HSA_STATUS_ERROR_OUT_OF_RESOURCES (0x1008) at file:mcwamp_hsa.cpp line:1196",
    "HIP error: out of memory at main.cpp:12",
    "hipMalloc failed: out of memory",
    "MIOpen(HIP): Error [EvaluateInvokers] miopenStatusInternalError",
    "MIOpen Error: /m/src/ocl/poolingocl.cpp:61: Unsupported pooling mode",
    "rocBLAS error: Cannot read /opt/rocm/rocblas/lib/library/TensileLibrary.dat: No such file or directory",
    "rocblas_status_internal_error",
    "HIPBLAS_STATUS_EXECUTION_FAILED at gemm.cpp:99",
    "clEnqueueNDRangeKernel: CL_OUT_OF_RESOURCES",
    # glog, Abseil, sanitizers, test frameworks
    "F20260909 01:46:40.005068   100 prog.cc:88] Check failed: n > 0 (0 vs. 0)",
    "F0000 00:00:1757382400.005068     100 prog.cc:33] bad",
    "[01:46:40] src/prog.cc:12: Check failed: a == b",
    "*** SIGABRT received at time=1757382400 on cpu 0 ***",
    "==100==ERROR: AddressSanitizer: heap-use-after-free on address 0x602000000010",
    "WARNING: ThreadSanitizer: data race (pid=100)",
    "prog.cpp:7:12: runtime error: signed integer overflow",
    "[  FAILED  ] Gemm.Small (3 ms)",
    "test cases: 3 | 2 passed | 1 failed",
    "*** 1 failure is detected in the test module \"gemm\"",
    # other languages
    "thread 'main' panicked at src/main.rs:2:5:",
    "panic: runtime error: index out of range [5] with length 3",
    "Traceback (most recent call last):",
    "Fatal Python error: Segmentation fault",
    "Fortran runtime error: End of file",
    "Segmentation fault (core dumped)",
]  # fmt: skip

HARMLESS = [
    "I0909 01:46:40.005068   100 dnnmark.cc:91] Running mode: 1",
    "W0909 01:46:40.005068   100 dnnmark.cc:91] data file is smaller than usual",
    "MIOpen(HIP): Warning [SQLiteBase] Missing system database file: gfx801_4.HIP.fdb.txt",
    "rocBLAS warning: hipBLASLt is not available",
    "maximum error: 0.000012",
    "HIP errors: 0",
    "hip error = none",
    "FAILED: 0",
    "0 assertions failed",
    "malloc(): 4096 bytes allocated",
    "*** No errors detected",
    "test cases: 3 | 3 passed | 0 failed",
    "rocblas_status_success",
    "miopenStatusSuccess",
    "hipSuccess",
    "*** iteration 3 ***",
    "ERROR: ld.so: object 'libfoo.so' from LD_PRELOAD cannot be preloaded (cannot open shared object file): ignored.",
    "./prog: /usr/lib/libtinfo.so.5: no version information available (required by ./prog)",
    "src/sim/syscall_emul.cc:74: warn: ignoring syscall mprotect(...) Check failed: of no matter",
]


def ended(text: str, expectation: Expectation | None = None, simout: str = "") -> Outcome:
    """A run that gem5 ended with status 0, whose program printed the text on standard error."""
    return classify(
        ExitFacts(0), simout + NORMAL, STARTED + text + "\n", STATISTICS, expectation or Expectation()
    )


@pytest.mark.parametrize("text", FAILED)
def test_a_program_that_aborted_does_not_count_as_completed(text: str) -> None:
    outcome = ended(f"starting\n{text}\nlast words")
    assert outcome.status is Status.GUEST_FAILURE
    assert outcome.evidence in text


@pytest.mark.parametrize("text", HARMLESS)
def test_a_line_that_means_nothing_fails_no_run(text: str) -> None:
    assert ended(text).completed


def test_the_runs_that_were_recorded_hold_no_error_text() -> None:
    simout, simerr = ((RECORDED / "ok" / name).read_text() for name in ("simout", "simerr"))
    assert classify(ExitFacts(0), simout, simerr, STATISTICS, Expectation()).completed


def test_the_first_of_several_errors_is_the_evidence() -> None:
    assert ended("HIP error: 2\nterminate called recursively").evidence == "HIP error: 2"


def test_a_marker_in_gem5s_own_lines_is_no_sign_of_the_programs_end() -> None:
    """gem5 prints its command line, in which the program's arguments stand, and warnings of its own."""
    command = 'command line: gem5.opt apu_se.py -c prog --options="--say PASSED!"\n'
    warning = "src/sim/syscall_emul.cc:74: warn: ignoring syscall PASSED!(...)"
    marked = Expectation(end_marker="PASSED!")
    assert ended(warning, marked, command).status is Status.GUEST_FAILURE
    assert ended(warning, marked, command + "PASSED!\n").completed


ABORTED = [
    # status, what the program printed, what gem5 v22.1 printed
    "F0909 01:46:40.005068   100 dnnmark.cc:88] Check failed: num_layers_added_ > 0 (0 vs. 0)",
    "free(): invalid pointer",
    "prog: prog.c:3: main: Assertion `n' failed.",
    "rocBLAS error: Cannot read TensileLibrary.dat",
    "terminate called after throwing an instance of 'std::bad_alloc'",
]
FAULTS = [
    "src/sim/faults.cc:60: panic: panic condition !FullSystem occurred: fault (General-Protection) detected @ PC (0x7f=>0x80)",
    "src/arch/x86/faults.cc:166: panic: Tried to read unmapped address 0x8.\nPC: (0x7f=>0x80), Instr: MOV_R_M",
    "src/arch/x86/faults.cc:131: panic: Unrecognized/invalid instruction executed:\n {\n",
]  # fmt: skip


@pytest.mark.parametrize("said", ABORTED)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_of_the_programs_own_names_what_it_printed(said: str, fault: str) -> None:
    """Before v23.1 abort() ends in a general protection fault: glibc's hlt."""
    text = f"{STARTED}{said}\n{fault}\nMemory Usage: 2048 KBytes\nProgram aborted at tick 1000\n"
    outcome = classify(ExitFacts(134), "", text, None, Expectation())
    assert outcome.status is Status.GUEST_FAILURE
    assert outcome.evidence.startswith(said)
    assert fault.splitlines()[0] in outcome.evidence


def test_a_missing_kernel_is_named_behind_the_fault_that_follows_it() -> None:
    said = "MIOpen(HIP): Info2 [LoadBinary] Unable to load binary for: MIOpenSoftmax.cl ;args: -DX=1 -mcpu=gfx801\nMIOpen Error: 7 at /d/softmax_layer.h113"
    outcome = classify(ExitFacts(134), "", f"{STARTED}{said}\n{FAULTS[0]}\n", None, Expectation())
    assert outcome.status is Status.MISSING_KERNEL


def test_what_gem5s_own_panic_follows_is_said_beside_it() -> None:
    panic = "src/gpu-compute/compute_unit.cc:565: panic: WG with 16 WFs can not be allocated"
    outcome = classify(ExitFacts(134), "", f"{STARTED}HIP error: 2\n{panic}\n", None, Expectation())
    assert outcome.status is Status.GEM5_PANIC
    assert "WG with 16 WFs" in outcome.evidence and "HIP error: 2" in outcome.evidence


def test_an_assertion_of_gem5_is_not_taken_for_the_programs(tmp_path: Path) -> None:
    line = "gem5.opt: src/gpu-compute/gpu_compute_driver.cc:1105: setMtype: Assertion `vma != gpuVmas.end()' failed."
    outcome = classify(
        ExitFacts(134), "", f"{STARTED}{line}\nProgram aborted at tick 7\n", None, Expectation()
    )
    assert outcome.status is Status.GEM5_PANIC
    assert outcome.evidence == f"{line} (at tick 7)"


def test_a_programs_assertion_is_its_own_whatever_status_it_ends_with() -> None:
    line = "prog: prog.c:3: main: Assertion `n' failed."
    outcome = classify(ExitFacts(134), NORMAL, f"{STARTED}{line}\n", STATISTICS, Expectation())
    assert outcome.status is Status.GUEST_FAILURE
    assert line in outcome.evidence and "SIGABRT" in outcome.evidence
