"""Texts that mean that the program inside gem5 failed, by who prints them.

Up to gem5 v23.0 a guest's ``abort()`` ends in a fault; from v23.1 on ``tgkill`` turns it into
``exit_group(0)``, and these texts are all that is left of it. Each group names the sources of its texts.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_LIBRARY = (
    r"(?:HIP|hip|HSA|hsa|ROCm|CUDA|cuda|MIOpen|miopen|rocBLAS|rocblas|ROCBLAS|hipBLAS|hipblas|HIPBLAS"
    r"|rocFFT|hipFFT|rocRAND|hipRAND|rocSPARSE|hipSPARSE|RCCL|Tensile)"
)
_NOT_NONE = r"(?!s?\s*(?:[:=]|is|was)?\s*(?:0\b|none\b|no\b))"
_MOST = 4096
"""Characters at each end of a line that are searched."""


@dataclass(frozen=True)
class _Text:
    """A pattern for one line, and small letters of which the line holds one: they are found faster."""

    words: tuple[str, ...]
    pattern: re.Pattern[str]


def _text(words: str, pattern: str) -> _Text:
    return _Text(tuple(words.split("|")), re.compile(pattern))


_TEXTS = (
    # glibc assert/assert.c, musl src/exit/assert.c, HIP's device-side assert
    _text("assertion", r"[Aa]ssertion [`'\"].*['\"] ?failed|^Assertion failed: |:\d+: assertion .+ failed"),
    _text("unexpected error", r":\d+: .*Unexpected error: .*\.$"),
    # glibc malloc/malloc.c (malloc_printerr), malloc/mcheck.c
    _text(
        "(): ",
        r"\b(?:free|malloc|realloc|calloc|memalign|munmap_chunk|mremap_chunk|malloc_consolidate|int_mallinfo"
        r"|__malloc_info|tcache_thread_shutdown|malloc_check_get_size|free_check|realloc_check)\(\): "
        r"(?:invalid|corrupt|unaligned|memory corruption|double free|too many chunks|chunks in|mismatching"
        r"|(?:small|large)bin double|unsorted double|top chunk)",
    ),
    _text(
        "corrupt",
        r"\bdouble free or corruption\b"
        r"|\bcorrupted (?:size vs\. prev_size|double-linked list|unsorted chunks)"
        r"|\bmalloc(?:_check_get_size)?: (?:top chunk is corrupt|memory corruption)",
    ),
    _text("invalid fastbin entry", r"\binvalid fastbin entry \(free\)"),
    _text(
        "allocated block|freed twice",
        r"^memory clobbered (?:before|past end of) allocated block|^block freed twice",
    ),
    # glibc debug/fortify_fail.c, __libc_message, __libc_fatal; musl
    _text("*** ", r"\*\*\* .+ \*\*\*: .*terminated|\*\*\* (?:Error in `|glibc detected \*\*\*)"),
    _text(
        " detected ***", r"\*\*\* (?:%n in writable segment|invalid %N\$ use|.*overflow|.*smashing) detected"
    ),
    _text(
        "fatal",
        r"\bFatal glibc error: |^Fatal error: (?:glibc detected |length accounting|invalid format)"
        r"|^FATAL: (?:exception not rethrown|kernel too old|cannot determine kernel version)",
    ),
    _text("futex facility", r"^The futex facility returned an unexpected error code"),
    _text("libgcc_s", r"libgcc_s\.so\.1 must be installed for "),
    _text("cannot ", r"^cannot (?:allocate|create) (?:TLS data|memory for thread-local data)"),
    # glibc elf/dl-*.c, musl ldso/dynlink.c
    _text("loading shared librar", r"error while loading shared libraries|^Error loading shared library "),
    _text("isa level is lower", r"CPU ISA level is lower than required"),
    _text(
        "lookup error|relocat", r": (?:symbol|version) lookup error: |: relocation error: |^Error relocating "
    ),
    _text("not found (required by", r"\bversion [`'].+' not found \(required by "),
    _text("ld.so", r"^Inconsistency detected by ld\.so"),
    # libstdc++ vterminate.cc, pure.cc, debug.cc; libc++abi
    _text("terminate called", r"\bterminate called "),
    _text(" virtual ", r"\b(?:pure|[Pp]ure|deleted|[Dd]eleted) virtual (?:method|function) called"),
    _text("libc++abi", r"libc\+\+abi(?:\.\w+)?: "),
    _text("attempt to", r"(?:^|: )[Ee]rror: attempt to "),
    _text("what():", r"^\s*what\(\):  "),
    _text("exception", r"\b[Uu]n(?:caught|handled) (?:C\+\+ )?exception|^Exception in thread "),
    # HIP, ROCclr, ROCr, HCC
    _text(
        "hiperror|cudaerror",
        r"\bhipError(?!NotReady\b|PeerAccessAlreadyEnabled\b)[A-Z]\w+|\bcudaError(?!NotReady\b)[A-Z]\w+",
    ),
    _text("hsa_status_", r"\bHSA_STATUS_(?!SUCCESS\b|INFO_BREAK\b)[A-Z]\w+"),
    _text(
        "by gpu|core dump|queue error|vgpu=",
        r"Memory access fault by GPU|HW Exception by GPU|GPU core dump"
        r"|Queue error|Kernel Name: .* VGPU=",
    ),
    _text(":0:|:1:", r"^:[01]:\w+\.\w+ *: ?\d+"),
    _text(
        "unable to find code object|cannot find symbol",
        r"\bUnable to find code object\b|\bCannot find [Ss]ymbol\b",
    ),
    _text("async error", r"\bdue to async error\b"),
    _text("unable to open /dev", r"[Uu]nable to open /dev/(?:kfd|dri)"),
    _text(
        "device",
        r"\b[Nn]o (?:HIP|ROCm|GPU)(?:-capable)? (?:GPUs|devices?) "
        r"(?:is |are |was |were )?(?:detected|found|available)|\b[Nn]o device supporting HIP"
        r"|\bno ROCm-capable device|\binvalid device (?:function|symbol|ordinal)\b",
    ),
    _text(
        " failed", r"\b(?:hip|hsa|miopen|rocblas|hipblas)_?[A-Za-z]\w+(?: ?\(.*\))?:? failed\b" + _NOT_NONE
    ),
    _text("error: '", r"\b[Ee]rror: '.+' ?\(\d+\) at "),
    _text("launch failure", r"\bunspecified launch failure\b"),
    # MIOpen errors.hpp and logger.hpp; status names of rocBLAS, hipBLAS and others; DNNMark common.h
    _text("miopen", r"\bMIOpen(?:\(\w+\))?: (?:Error|Fatal)\b|\bmiopenStatus(?!Success\b|_t\b)[A-Z]\w+"),
    _text(
        "rocblas_",
        r"\brocblas_status_(?!success\b|perf_degraded\b|size_unchanged\b|size_increased\b|continue\b)[a-z]\w+"
        r"|\brocblas_abort\b",
    ),
    _text(
        "_status_", r"\b(?:HIPBLAS|CUBLAS|ROCSPARSE|HIPSPARSE|HIPRAND|ROCRAND)_STATUS_(?!SUCCESS\b)[A-Z]\w+"
    ),
    _text(
        "fft_",
        r"\b(?:HIP|ROC|CU)FFT_(?:INVALID|ALLOC_FAILED|INTERNAL|EXEC_FAILED|SETUP_FAILED|INCOMPLETE)\w*",
    ),
    _text("parse configuration error", r"Parse configuration Error at "),
    _text("requested data larger", r"Requested data larger than binary file size"),
    _text(
        "error|failure",
        r"\b" + _LIBRARY + r"(?: runtime| API| status)? (?:[Ee]rror|ERROR|[Ff]ailure|FAILURE)\b" + _NOT_NONE,
    ),
    _text("cl_", r"\bCL_(?:INVALID_\w+|OUT_OF_\w+|\w+_FAILURE|\w+_NOT_(?:FOUND|AVAILABLE))\b"),
    # glog and Abseil: fatal lines, CHECK, handlers of signals; dmlc, torch
    _text(":", r"^F\d{4,8} \d+:\d+:\d+\.\d+ "),
    _text("check failure stack trace", r"\*\*\* Check failure stack trace"),
    _text("check failed", r"\b[Cc]heck failed: (?!0\b(?: of\b|$))"),
    _text("raw: ", r"\bRAW: (?:Check .* failed|FATAL)"),
    _text("*** aborted at|*** sig", r"^\*\*\* (?:Aborted at |SIG[A-Z]+ )"),
    # compiler-rt, libsanitizer
    _text(
        "sanitizer",
        r"\b(?:HW|Hw|Hardware)?(?:Address|Leak|Memory|Thread|UndefinedBehavior|DataFlow)Sanitizer\b",
    ),
    _text(
        "runtime error: ", r"^\S+:\d+:\d+: runtime error: |\bFortran runtime error: |^fatal runtime error: "
    ),
    # GoogleTest, Catch2, doctest, Boost.Test
    _text("failed", r"\[  FAILED  \]|^\s*[1-9]\d* FAILED TESTS?\b|^test cases: .*\b[1-9]\d* failed"),
    _text("failure", r"Status: FAILURE!|^\*\*\* [1-9]\d* failures? (?:is|are) detected"),
    # Rust, Go, Python, Fortran
    _text("panic", r"^thread '.*' (?:\(\d+\) )?panicked at |^panic: "),
    _text("memory allocation of", r"^memory allocation of \d+ bytes failed"),
    _text("fatal error: ", r"^fatal error: "),
    _text("goroutine ", r"^goroutine \d+ \["),
    _text("traceback|fatal python", r"^Traceback \(most recent call last\):|^Fatal Python error: "),
    _text("received signal|error stop", r"Program received signal SIG|^ ?ERROR STOP\b"),
    # libgomp; a shell's or a handler's word for a signal
    _text("libgomp", r"^libgomp: (?!Invalid value|Affinity|OMP_)"),
    _text(
        "abort|segmentation|bus error|illegal instruction|floating point",
        r"^(?:.*: )?(?:Aborted|Segmentation fault|Bus error|Illegal instruction|Floating point exception)"
        r"(?: \(core dumped\))?[.!]?$",
    ),
)


def error_line(text: str) -> str | None:
    """The first line that means failure, or None."""
    lowered = text.lower()
    possible = [each for each in _TEXTS if any(word in lowered for word in each.words)]
    if not possible:
        return None
    for line in text.splitlines():
        if len(line) > 2 * _MOST:
            line = f"{line[:_MOST]} {line[-_MOST:]}"
        small = line.lower()
        for each in possible:
            if any(word in small for word in each.words) and each.pattern.search(line):
                return line.strip()
    return None
