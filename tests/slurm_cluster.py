"""A Slurm of the test's own: munged, slurmctld and three nodes on this machine, without systemd and cgroups.

Started as root from Debian's packages, below a directory of its own and on ports of its own; a Slurm that
the machine has otherwise is neither used nor disturbed. ``stop`` ends every process of it, whatever has
happened.
"""

from __future__ import annotations

import contextlib
import os
import random
import re
import secrets
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

NODES = ("node1", "node2", "node3")
PATIENCE = 600.0
"""Seconds that a daemon, or a change of a job's state, may take on a busy machine."""

_CONFIGURATION = """\
ClusterName=apuflow
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={place}/munge.socket,cred_expire=30
CredType=cred/munge
MpiDefault=none
StateSaveLocation={place}/state
SlurmdSpoolDir={place}/spool.%n
SlurmctldPidFile={place}/slurmctld.pid
SlurmdPidFile={place}/%n.pid
SlurmctldLogFile={place}/slurmctld.log
SlurmdLogFile={place}/%n.log
SlurmctldPort={controller}
SlurmdParameters=config_overrides
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=1
JobAcctGatherParams=OverMemoryKill,NoShared
AccountingStorageType={accounting}
ReturnToService=2
SlurmdTimeout=30
SlurmctldTimeout=300
KillWait=30
MessageTimeout=60
TCPTimeout=30
BatchStartTimeout=120
UnkillableStepTimeout=600
MinJobAge=3600
OverTimeLimit=0
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=1,sched_min_interval=0,bf_interval=1,default_queue_depth=500
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
LaunchParameters=disable_send_gids
{nodes}
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE PriorityTier=1 PreemptMode=REQUEUE GraceTime=0
PartitionName=urgent Nodes=ALL MaxTime=INFINITE PriorityTier=10 PreemptMode=OFF
"""


def free_ports(number: int) -> list[int]:
    """Ports that nobody listens on, below those that the system gives to whoever asks for any."""
    highest = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    found: list[int] = []
    for port in random.sample(range(10_000, highest), 500):
        with contextlib.suppress(OSError), socket.socket() as one:
            one.bind(("0.0.0.0", port))
            found.append(port)
        if len(found) == number:
            break
    return found


def until(
    what: str, condition: Callable[[], bool], seconds: float = PATIENCE, detail: Callable[[], str] = str
) -> None:
    """Wait for a condition; AssertionError that names it, when it does not come."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds:g} s: {what}\n{detail()}"
        time.sleep(0.1)


@dataclass
class Cluster:
    """A running Slurm.

    Attributes:
        place: its directory: configuration, state, logs.
        cpus, memory_mb: of each node.
        accounting: the value of AccountingStorageType and what follows it.
    """

    place: Path
    cpus: int = 4
    memory_mb: int = 30000
    accounting: str = "accounting_storage/none"
    _daemons: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def environment(self) -> dict[str, str]:
        """What makes Slurm's commands talk to this cluster, and those of a job's own not to another."""
        kept = {
            name: value for name, value in os.environ.items() if not name.startswith(("SLURM_", "SBATCH_"))
        }
        path = f"{self.place}/bin:{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
        return {**kept, "PATH": path, "SLURM_CONF": str(self.place / "slurm.conf")}

    def start(self) -> None:
        """Start all daemons and wait until every node is idle."""
        self.place.mkdir(parents=True, exist_ok=True)
        self.place.chmod(0o755)
        (self.place / "state").mkdir()
        (self.place / "munge.key").write_bytes(secrets.token_bytes(128))
        (self.place / "munge.key").chmod(0o400)
        self._wrap("srun")
        controller, *ports = free_ports(1 + len(NODES))
        host = socket.gethostname().partition(".")[0]
        nodes = "\n".join(
            f"NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs={self.cpus} "
            f"RealMemory={self.memory_mb} State=UNKNOWN"
            for name, port in zip(NODES, ports, strict=True)
        )
        (self.place / "slurm.conf").write_text(
            _CONFIGURATION.format(
                host=host, place=self.place, controller=controller, nodes=nodes, accounting=self.accounting
            )
        )
        files = {
            "socket": "socket",
            "key-file": "key",
            "pid-file": "pid",
            "seed-file": "seed",
            "log-file": "log",
        }
        options = [f"--{option}={self.place}/munge.{name}" for option, name in files.items()]
        self._start("munged", ["munged", "--foreground", "--force", *options])
        until("munge's socket", (self.place / "munge.socket").exists)
        self.start_controller()
        for node in NODES:
            (self.place / f"spool.{node}").mkdir()
            self.start_node(node)
        until("all nodes idle", lambda: self.states() == dict.fromkeys(NODES, "idle"), detail=self.logs)

    def start_controller(self) -> None:
        """Start slurmctld (again) and wait until it answers."""
        self._start("slurmctld", ["slurmctld", "-D", "-f", str(self.place / "slurm.conf")])
        until("slurmctld answers", lambda: self.run("scontrol", "ping").returncode == 0, detail=self.logs)

    def start_node(self, node: str) -> None:
        """Start a node's slurmd (again)."""
        self._start(node, ["slurmd", "-D", "-N", node, "-f", str(self.place / "slurm.conf")])

    def kill(self, daemon: str, number: signal.Signals = signal.SIGKILL) -> None:
        """Kill slurmctld or a node's slurmd; its jobs' own daemons (slurmstepd) live on."""
        process = self._daemons.pop(daemon)
        process.send_signal(number)
        process.wait(PATIENCE)

    def kill_node(self, node: str) -> None:
        """What a power cut of a node leaves: nothing of slurmd, its step daemons, and their jobs."""
        place = f"{self.place}/".encode()
        here = [number for number, facts in self.jobs().items() if facts.get("NodeList") == node]
        steps = [pid for number in here for pid in self._processes(f"slurmstepd: [{number}.".encode(), place)]
        mine = self._processes(f"SLURMD_NODENAME={node}\0".encode(), place)
        # None of them sees another one die. Children go first: Linux wakes a stopped process whose group lost
        # its last parent (SIGHUP, SIGCONT). A woken srun asks for the end of its step, and when the node is
        # back, that ends the step of the job's next start.
        pids = sorted({self._daemons[node].pid, *steps, *mine}, key=_started, reverse=True)
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for pid in pids:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, number)
        self._daemons.pop(node).wait(PATIENCE)

    def states(self) -> dict[str, str]:
        """Each node and its state, as sinfo says them."""
        said = self.run("sinfo", "-N", "-h", "-p", "main", "-o", "%N %t").stdout.split()
        return dict(zip(said[::2], said[1::2], strict=False))

    def run(self, *command: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """One of Slurm's commands."""
        return subprocess.run(
            command,
            env={**self.environment, **environment},
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE,
        )

    def jobs(self) -> dict[int, dict[str, str]]:
        """All jobs that the controller remembers, by number, as scontrol shows them."""
        found = {}
        for line in self.run("scontrol", "-o", "show", "jobs").stdout.splitlines():
            facts = dict(re.findall(r"(\w+)=(\S*)", line))
            if "JobId" in facts:
                found[int(facts["JobId"])] = facts
        return found

    def running(self) -> list[int]:
        """Numbers of the jobs that run."""
        return [number for number, job in self.jobs().items() if job["JobState"] == "RUNNING"]

    def logs(self) -> str:
        """The ends of all logs."""
        ends = (f"{path}:\n{path.read_text(errors='replace')[-1500:]}" for path in self.place.glob("*.log"))
        return "\n".join(ends)

    def stop(self) -> None:
        """End every process of this cluster, its jobs' among them."""
        with contextlib.suppress(Exception):
            self.run("scancel", "--full", "--signal=KILL", "--user=root")
        for daemon in (*NODES, "slurmctld", "munged"):
            process = self._daemons.pop(daemon, None)
            if process is not None:
                process.kill()
                process.wait(PATIENCE)
        mark = f"SLURM_CONF={self.place}/slurm.conf".encode()
        for _ in range(50):
            left = [*self._processes(mark), *self._processes(str(self.place).encode())]
            for pid in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            if not left:
                break
            time.sleep(0.1)
        shutil.rmtree(self.place, ignore_errors=True)

    def _wrap(self, command: str) -> None:
        """Snakemake's executor starts srun without SLURM_CONF: it gets it back."""
        program = shutil.which(command)
        assert program is not None, command
        script = self.place / "bin" / command
        script.parent.mkdir(exist_ok=True)
        script.write_text(f'#!/bin/sh\nSLURM_CONF={self.place}/slurm.conf exec {program} "$@"\n')
        script.chmod(0o755)

    def _start(self, name: str, command: Sequence[str]) -> None:
        program = shutil.which(command[0], path=self.environment["PATH"])
        assert program is not None, command[0]
        with (self.place / f"{name}.out").open("ab") as out:
            self._daemons[name] = subprocess.Popen(
                [program, *command[1:]],
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,
            )

    def _processes(self, *marks: bytes) -> list[int]:
        """Processes whose command line or environment holds all of these, but for this one."""
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit() and int(entry.name) != os.getpid():
                with contextlib.suppress(OSError):
                    text = (entry / "cmdline").read_bytes() + b"\0" + (entry / "environ").read_bytes()
                    if all(mark in text for mark in marks):
                        found.append(int(entry.name))
        return found


def _started(pid: int) -> tuple[int, int]:
    """When a process started: no child before its parent."""
    with contextlib.suppress(OSError):
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]), pid
    return 0, pid


def job_environment(facts: Mapping[str, str]) -> str:
    """One line about a job, for messages."""
    return " ".join(
        f"{name}={facts.get(name, '')}" for name in ("JobId", "JobState", "Reason", "NodeList", "Comment")
    )
