#!/usr/bin/env python3
"""Stand-in for gem5.opt: real texts, real statistics, no simulation. See tests/standins/README.md."""

import lzma
import math
import os
import re
import runpy
import signal
import sqlite3
import sys
import time
import types
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
NORMAL = "exiting with last active thread context"
EVENTS = "src/sim/simulate.cc:194: info: Entering event queue @ 0.  Starting simulation..."
GLOG = "I0909 01:46:40.{:06d}   100 {}"
PANICS = {
    "panic": "src/arch/x86/faults.cc:167: panic: fault (General-Protection) detected @ PC 0x7ffff7a42428",
    "deadlock": "src/mem/ruby/system/GPUCoalescer.cc:292: warn: GPUCoalescer 3 Possible deadlock detected!\n"
    "src/mem/ruby/system/GPUCoalescer.cc:294: panic: Aborting due to deadlock!",
    "assert": "gem5.opt: src/gpu-compute/gpu_compute_driver.cc:1105: gem5::GPUComputeDriver::setMtype: "
    "Assertion `vma != gpuVmas.end()' failed.",
}
FATALS = {
    "fatal": "src/sim/syscall_emul.cc:67: fatal: syscall memfd_create (#319) unimplemented.",
    "guest_oom": "src/sim/mem_pool.cc:120: fatal: fatal condition freePages() <= 0 occurred: "
    "Out of memory, please increase size of physical memory.",
}


class Ended(Exception):
    """The guest has ended with this status."""

    def __init__(self, status=0, marker=True):
        super().__init__(status)
        self.status = status


def usage_error(message):
    sys.stderr.write(f"usage: apu_se.py [-h] [-n NUM_CPUS]\napu_se.py: error: {message}\n")
    sys.exit(2)


def python_fatal(message):
    sys.stderr.write(f"fatal: {message}\n")
    sys.exit(1)


def arguments(words):
    """gem5's own options, the script, and the script's options by name."""
    own, position = {}, 0
    while position < len(words) and words[position].startswith("-"):
        word = words[position]
        if word == "-d":
            own["d"] = words[position + 1]
            position += 1
        elif word.startswith("--"):
            name, _, value = word[2:].partition("=")
            own[name] = value
        else:
            own[word[1:]] = True
        position += 1
    if position == len(words):
        if "help" in own:
            print("gem5 stand-in")
            sys.exit(0)
        sys.exit("no script")
    return own, words[position], words[position + 1 :]


def script_options(words):
    known = set((ROOT / "options.txt").read_text().split())
    options = {}
    for word in words:
        name, _, value = word.partition("=")
        if name not in known:
            usage_error(f"unrecognized arguments: {word}")
        options[name[2:]] = value if "=" in word else True
    return options


def behaviour(line):
    table = HERE / "behaviour"
    if table.exists():
        for row in table.read_text().splitlines():
            text, _, what = row.partition("\t")
            if text in line:
                return what.split()
    return ["ok"]


def statistics(options):
    """Text that a real gem5 wrote, of the next smaller GPU."""
    wanted = int(options["num-compute-units"])
    sizes = sorted(int(path.name.split(".")[0]) for path in (ROOT / "statistics").iterdir())
    size = max((each for each in sizes if each <= wanted), default=sizes[0])
    return lzma.open(ROOT / "statistics" / f"{size}.txt.xz", "rt").read()


def with_value(text: str, name: str, value: int) -> str:
    """The statistics with another value of a row, in its columns."""
    return re.sub(rf"^({name})( +\d+)", lambda row: row[1] + str(value).rjust(len(row[2])), text, flags=re.M)


def ticks_of(text):
    return int(re.findall(r"^finalTick +(\d+)", text, re.M)[-1])


def blocks(text, dispatches):
    """One block per dispatch and a last one without kernels, as the launcher makes gem5 write them."""
    each = ticks_of(text)
    made = []
    for number in range(dispatches + 1):
        block = with_value(text, "finalTick", each * (number + 1))
        if number == dispatches:
            block = re.sub(r"^(\S+(?:numKernelLaunched|completedWfs) +)\d+", r"\g<1>0", block, flags=re.M)
        made.append(block)
    return "".join(made)


def say(text):
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def dnnmark(options, environment, guest):
    """What a DNNMark benchmark does that can be seen from outside."""
    given = dict(zip(guest[::2], guest[1::2], strict=False))
    config = Path(given["-config"])
    if not config.is_file():
        print(f"Parse configuration Error at dnnmark.cc{88}", end="")
        raise Ended(1)
    layers = re.findall(r"^\s*\[(?!DNNMark)(\w+)\]", config.read_text(), re.M)
    data = Path(given["-mmap"])
    if not data.is_file() or data.stat().st_size < 4096:
        say("F0909 01:46:40.002100   100 data_png.h:93] Requested data larger than binary file size")
        raise Ended(1)
    say(GLOG.format(1000, "test_fwd.cc:11] DNNMark suites: Start..."))
    say(GLOG.format(1200, "dnnmark.cc:91] Search and parse general DNNMark configuration"))
    gfx, units = options["gfx-version"], int(options["num-compute-units"])
    name = f"{gfx}_{units}.ukdb" if units <= 64 else f"{gfx}{units:x}.ukdb"
    found = list(Path(environment["HOME"]).glob(f".cache/miopen/*/{name}"))
    rows = sqlite3.connect(found[0]).execute("select count(*) from kern_db").fetchone()[0] if found else 0
    if not rows:
        missing_kernel(gfx)
    for layer in layers:
        say(GLOG.format(2000, f"dnn_layer.h:60] DNNMark: Running {layer} forward: STARTED"))


def missing_kernel(gfx):
    say(
        "MIOpen Error: /root/driver/MLOpen/src/tmp_dir.cpp:45: "
        "Can't execute cd /tmp/miopen-MIOpenSoftmax.cl-1f2e-3d4c;"
        f" /opt/rocm/bin/clang-ocl  -DNUM_BATCH=1 -DUSE_SOFTMAX_MODE_INSTANCE=1 -mcpu={gfx} -Wno-everything"
        " -mno-code-object-v3 MIOpenSoftmax.cl -o /tmp/miopen-MIOpenSoftmax.cl-1f2e-3d4c/MIOpenSoftmax.cl.o"
    )
    print("MIOpen Error: 7 at /dnn/softmax_layer.h113", end="")
    raise Ended(1)


def misbehave(what, options):
    kind = what[0]
    if kind in PANICS:
        say(PANICS[kind])
        say("Memory Usage: 2612672 KBytes\nProgram aborted at tick 5068886000\n--- BEGIN LIBC BACKTRACE ---")
        signal.signal(signal.SIGABRT, signal.SIG_DFL)
        os.abort()
    if kind in FATALS:
        say(FATALS[kind] + "\nMemory Usage: 2612672 KBytes")
        os._exit(1)
    if kind == "segfault":
        say("gem5 has encountered a segmentation fault!\n")
        os.kill(os.getpid(), signal.SIGSEGV)
    if kind == "host_memory":
        say("src/mem/physical.cc:247: fatal: Could not mmap 68719476736 bytes for range [0:0x1000000000]!")
        os._exit(1)
    if kind == "oom":
        held = []
        while True:
            held.append(bytearray(16 << 20))
            time.sleep(0.02)
    if kind == "hang":
        while True:
            time.sleep(0.05)
    if kind == "held":  # until somebody changes the table
        while behaviour(" ".join(sys.argv))[0] == "held":
            time.sleep(0.05)
    if kind == "slow":
        time.sleep(float(what[1]))
    if kind == "stderr":
        say(" ".join(what[1:]))
    if kind == "exit1":
        print("HIP Error at /dnn/data_manager.h61\nhipErrorOutOfMemory")
        raise Ended(1)
    if kind == "missing_kernel":
        missing_kernel(options["gfx-version"])


def interrupt(number, frame):
    raise KeyboardInterrupt


def run_script(script, rest, outdir):
    """Run another script than apu_se.py, as gem5 does: with its module m5. Returns what it changed."""
    place = [outdir]
    options = types.SimpleNamespace(outdir=str(outdir), stdout_file="simout", stderr_file="simerr")
    core = types.SimpleNamespace(setOutputDir=lambda directory: place.append(Path(directory)))
    group = type("Group", (), {"getStats": lambda self: [], "getStatGroups": lambda self: {}})
    modules = {"core": core, "stats": types.SimpleNamespace(Group=group)}
    stats = types.SimpleNamespace(enable=lambda: None)
    sys.modules["m5"] = types.SimpleNamespace(
        options=options, stats=stats, instantiate=lambda: stats.enable()
    )
    sys.modules["m5.stats"] = stats
    sys.modules["_m5"] = types.SimpleNamespace(**modules)
    sys.modules.update({f"_m5.{name}": module for name, module in modules.items()})
    sys.argv = [script, *rest]
    sys.path.insert(0, str(Path(script).parent))
    runpy.run_path(script, run_name="__m5_main__")
    return sys.argv[1:], place[-1]


def main():
    own, script, rest = arguments(sys.argv[1:])
    outdir = Path(own["d"])
    outdir.mkdir(parents=True, exist_ok=True)
    print(f"Redirecting stdout to {outdir}/simout\nRedirecting stderr to {outdir}/simerr", flush=True)
    for stream, name in ((1, "simout"), (2, "simerr")):
        os.dup2(os.open(outdir / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666), stream)
    target = outdir / own.get("stats-file", "stats.txt")
    target.touch()
    print("gem5 Simulator System.  https://www.gem5.org\n\ngem5 version 23.0.1.0 (stand-in)")
    print(f"command line: {' '.join(sys.argv)}\n", flush=True)
    if not Path(script).is_file():
        sys.exit(f"Can't open script {script}")
    script_options([word for word in rest if word.startswith("--")])
    (outdir / "config.ini").write_text("[root]\ntype=Root\n")
    (outdir / "fs" / "proc").mkdir(parents=True, exist_ok=True)
    if Path(script).name != "apu_se.py":
        rest, outdir = run_script(script, rest, outdir)
        target = outdir / target.name
        target.touch()
    options = script_options(rest)
    program = Path(options["benchmark-root"]) / options["cmd"]
    if not program.exists():
        python_fatal(f"{options['cmd']} not found in ['{options['benchmark-root']}']")
    environment = dict(line.partition("=")[::2] for line in Path(options["env"]).read_text().splitlines())
    units = int(options["num-compute-units"])
    print(f"Num SQC =  {-(-units // 4)} Num scalar caches =  {-(-units // 4)} Num CU =  {units}", flush=True)
    what = behaviour(" ".join(sys.argv))
    text = statistics(options)
    signal.signal(signal.SIGINT, interrupt)
    cause, status, guest = NORMAL, 0, options["options"].split()
    say(EVENTS)
    write_trace(own, outdir, guest_kernels(program, guest))
    try:
        if program.read_bytes()[:4] == b"\x7fELF":
            text = launcher(text, guest, what, options)
        else:
            if program.name.startswith("dnnmark_"):
                dnnmark(options, environment, guest)
            misbehave(what, options)
            if what[0] != "abort_zero" and program.name.startswith("dnnmark_"):
                say(GLOG.format(5000, "test_fwd.cc:21] Total running time(ms): 0.196"))
                say(GLOG.format(5068, "test_fwd.cc:22] DNNMark suites: Tear down..."))
            elif not program.name.startswith("dnnmark_"):
                print(program.read_text().splitlines()[-1], flush=True)
    except Ended as ended:
        status = ended.status
    except KeyboardInterrupt:
        cause = "user interrupt received"
    finish(target, text, what, cause, status)


def write_trace(own, outdir, kernels):
    """Lines of GPUKernelInfo and GPUCommandProc, as v23.0.1.0 prints them; a kernel takes 200,000 cycles.

    With GPUWgLatency those of its workgroups: 16 at a time, one after the other evenly.
    """
    if "debug-file" not in own:
        return
    lines, now = [], 5_000_000_000
    for number, (name, grid, workgroup) in enumerate(kernels):
        packet = (
            f"Task ID: {number} Got AQL: wg size ({workgroup}), grid size ({grid}) kernarg addr: "
            f"{0x7FFFF7E00000 + 256 * number:#x}, completion signal addr:0x7ffff7f01000"
        )
        registers = "num vector regs: 24, num scalar regs: 32"
        code = f"Extracted code object: {name} ({registers}, code addr: 0x7ffff0001100"
        lines += [
            f"{now}: system.cpu3.gpu_cmd_proc: Kernel name: {name}",
            f"{now}: system.cpu3.gpu_cmd_proc: {packet}",
            f"{now}: system.cpu3.gpu_cmd_proc: {code}, kernarg size: 0, LDS size: 0)",
            f"{now + 5000}: system.cpu3.gpu_cmd_proc.dispatcher: Launched kernel {number}",
            f"{now + 9000}: system.cpu3.gpu_cmd_proc.dispatcher: Launched kernel {number}",
        ]
        groups = math.prod(
            -(-int(size) // int(of)) for size, of in zip(grid.split("x"), workgroup.split("x"), strict=True)
        )
        for group in range(groups if "GPUWgLatency" in own["debug-flags"] else 0):
            tick = now + 5000 + max(0, group - 15) * 100_000_000 // groups
            if group > 15:
                ended = f"WG Complete cycle:{tick} wg:{group - 16} kernel:{number} cu:{group % 4}"
                lines.append(f"{tick}: system.cpu3.gpu_cmd_proc.dispatcher: {ended}")
            lines.append(f"{tick}: system.cpu3: WG Begin cycle:{tick} wg:{group} cu:{group % 4}")
        lines.append(f"{now + 200_005_000}: system.cpu3.gpu_cmd_proc.dispatcher: Completed kernel {number}")
        now += 300_000_000
    (outdir / own["debug-file"]).write_text("".join(f"{line}\n" for line in lines))


def guest_kernels(program, guest):
    """What is dispatched: the launcher's list; or DNNMark's layers, after a fill by the runtime."""
    if program.read_bytes()[:4] == b"\x7fELF":
        rows = re.findall(r"^dispatch \S+ \S+ (\d+ \d+ \d+) (\d+ \d+ \d+)", Path(guest[0]).read_text(), re.M)
        return [("Blit kernel", grid.replace(" ", "x"), group.replace(" ", "x")) for grid, group in rows]
    if not program.name.startswith("dnnmark_"):
        return [("Some kernel", "1024x1x1", "64x1x1")]
    config = Path(dict(zip(guest[::2], guest[1::2], strict=False))["-config"]).read_text()
    layers = re.findall(r"^\s*\[(?!DNNMark)(\w+)\]", config, re.M)
    return [("Blit kernel", "65536x1x1", "256x1x1")] + [("Some kernel", "25600x1x1", "256x1x1")] * len(layers)


def launcher(text, guest, what, options):
    dispatches = len(re.findall(r"^dispatch ", Path(guest[0]).read_text(), re.M))
    misbehave(what, options)
    print(f"apuflow-launcher: {dispatches} of {dispatches} dispatches done", flush=True)
    return blocks(text, dispatches)


def finish(target, text, what, cause, status):
    ticks = ticks_of(text)
    if what[0] == "max_tick":
        cause = "simulate() limit reached"
    if what[0] == "cut_stats":
        text = text[: len(text) * 2 // 3]
    if what[0] == "other_stats":
        text = with_value(text, "finalTick", 4242)
    if what[0] == "two_blocks":
        text += text
    if what[0] == "no_kernels":
        text = with_value(text, r"\S+numKernelLaunched", 0)
    print(f"Ticks: {ticks}\nExiting because  {cause}", flush=True)
    if what[0] != "no_stats":
        target.write_text(text)
    sys.stdout.flush()
    os._exit(status)


main()
