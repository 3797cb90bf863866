"""Record what the accounting of a real Slurm says of jobs that ended in each way.

    python tests/slurm_accounting.py tests/data/slurm/accounting.json

Needs root and Debian's slurm-wlm, munge, slurmdbd and mariadb-server; takes two minutes. For each event: the
answer to the question that ``apuflow.core.scheduler`` asks of ``sacct``, in the recorded file, and on the
screen what it makes of it while the controller is down.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from slurm_cluster import Cluster, free_ports, until

from apuflow.core.scheduler import end_of

QUESTION = ("sacct", "-X", "-D", "-n", "-P", "-o", "State,ExitCode,NodeList,Timelimit,ReqMem", "-j")
HOG = "exec python3 -c 'import time; kept = bytearray(900 << 20); time.sleep(300)'"
DATABASE = """\
AuthType=auth/munge
AuthInfo=socket={place}/munge.socket
DbdHost=localhost
DbdAddr=127.0.0.1
DbdPort={port}
SlurmUser=root
StorageType=accounting_storage/mysql
StorageHost=localhost
StorageUser=root
StorageLoc=accounting
LogFile={place}/slurmdbd.log
PidFile={place}/slurmdbd.pid
"""


class AccountedCluster(Cluster):
    """A Slurm with slurmdbd, and a MariaDB of its own that listens on a socket alone."""

    def __init__(self, place: Path) -> None:
        [self._port] = free_ports(1)
        host = f"AccountingStorageHost=127.0.0.1\nAccountingStoragePort={self._port}"
        password = f"AccountingStoragePass={place}/munge.socket"
        super().__init__(place, accounting=f"accounting_storage/slurmdbd\n{host}\n{password}")

    def start_controller(self) -> None:
        """Start slurmctld (again), the database before it."""
        if "slurmdbd" not in self._daemons:
            self._start_database()
        super().start_controller()

    def _start_database(self) -> None:
        data, database = f"--datadir={self.place}/database", self.place / "database.socket"
        as_root = ("--no-defaults", "--user=root", data)
        subprocess.run(
            ["mariadb-install-db", *as_root, "--skip-test-db", "--auth-root-authentication-method=normal"],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        os.environ["MYSQL_UNIX_PORT"] = str(database)  # where slurmdbd looks for it
        self._start("mariadbd", ["mariadbd", *as_root, f"--socket={database}", "--skip-networking"])
        until("the database", database.exists)
        configuration = self.place / "slurmdbd.conf"
        configuration.write_text(DATABASE.format(place=self.place, port=self._port))
        configuration.chmod(0o600)
        self._start("slurmdbd", ["slurmdbd", "-D"])
        add = ("sacctmgr", "-i", "add", "cluster", "apuflow")
        until("slurmdbd", lambda: self.run(*add).returncode == 0, detail=self.logs)

    def submit(self, node: str, *options: str, command: str = "sleep 300") -> str:
        """The number of a new job."""
        given = ("--parsable", "--mem=300", "--output=/dev/null", f"--nodelist={node}")
        return self.run("sbatch", *given, *options, f"--wrap={command}").stdout.strip()

    def answer(self, job: str) -> str:
        """What sacct says of all starts of a job."""
        return self.run(*QUESTION, job).stdout


def record(cluster: AccountedCluster) -> dict[str, str]:
    """Let jobs end in all ways at once; what accounting says of each, and the jobs' numbers on the screen."""
    five = "--time=5"
    jobs = {
        "time limit": cluster.submit("node1", "--time=1"),
        "memory": cluster.submit("node1", five, command=HOG),
        "scancel": cluster.submit("node1", five),
        "failed": cluster.submit("node1", five, command="exit 3"),
        "requeue": cluster.submit("node1", five, "--requeue"),
        "preemption": cluster.submit("node2", five, "--requeue", "--cpus-per-task=4"),
        "node failure": cluster.submit("node3", five, "--no-requeue", "--cpus-per-task=2"),
        "node failure, started again": cluster.submit("node3", five, "--requeue", "--cpus-per-task=2"),
    }
    until("all begun", lambda: all(cluster.answer(job) for job in jobs.values()), detail=cluster.logs)
    cluster.run("scancel", jobs["scancel"])
    cluster.run("scontrol", "requeue", jobs["requeue"])
    cluster.run("scontrol", "hold", jobs["requeue"])
    cluster.submit("node2", "--partition=urgent", "--time=5", "--cpus-per-task=4")
    cluster.kill_node("node3")
    ends = {
        "time limit": "TIMEOUT", "memory": "FAILED", "scancel": "CANCELLED", "failed": "FAILED",
        "requeue": "REQUEUED", "preemption": "PREEMPTED", "node failure": "NODE_FAIL",
        "node failure, started again": "NODE_FAIL",
    }  # fmt: skip
    for event, state in ends.items():
        until(f"{event}: {state}", lambda e=event, s=state: s in cluster.answer(jobs[e]), detail=cluster.logs)  # type: ignore[misc]
    cluster.start_node("node3")
    again = jobs["node failure, started again"]
    until("started again", lambda: "RUNNING" in cluster.answer(again), detail=cluster.logs)
    time.sleep(5)  # for entries of what waits
    cluster.kill("slurmctld")
    os.environ.update(cluster.environment)
    for event, job in jobs.items():
        print(f"{event}: {end_of(job, 280 << 20)}")
    return {event: cluster.answer(job) for event, job in jobs.items()}


if __name__ == "__main__":
    cluster = AccountedCluster(Path(tempfile.mkdtemp(dir="/var/tmp", prefix="slurm-")))
    try:
        cluster.start()
        text = json.dumps(record(cluster), indent=2)
    finally:
        cluster.stop()
    Path(sys.argv[1]).write_text(text + "\n")
