"""Stand-in for a scheduler that snakemake-executor-plugin-cluster-generic calls.

``submit PLACE JOBSCRIPT`` prints a job's name, ``status PLACE JOB`` what has become of it. With ``elsewhere``
instead of ``submit`` the job runs as on a machine that has none of the project's files: in an empty directory
of its own and, where mounts are permitted (root, not in a chroot), with nothing where the project is.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

what, place, argument = sys.argv[1], Path(sys.argv[2]), sys.argv[3]
if what == "status":
    ended = place / argument / "rc"
    print({"0": "success"}.get(ended.read_text().strip(), "failed") if ended.exists() else "running")
    sys.exit()
place.mkdir(exist_ok=True)
job = Path(tempfile.mkdtemp(dir=place))
script = shutil.copy(argument, job)
command, machine = ["sh", script], Path()
if what == "elsewhere":
    machine = job / "machine"
    machine.mkdir()
    if (
        os.getuid() == 0
        and not subprocess.run(["unshare", "--mount", "true"], stderr=subprocess.DEVNULL).returncode
    ):
        hide = 'mount -t tmpfs none "$0" && cd "$1" && exec sh "$2"'
        command = ["unshare", "--mount", "sh", "-c", hide, str(Path.cwd()), str(machine.resolve()), script]
with (job / "log").open("w") as log:
    subprocess.Popen(
        ["sh", "-c", '"$@" < /dev/null; echo $? > "$0.part"; mv "$0.part" "$0"', str(job / "rc"), *command],
        cwd=machine,
        stdout=log,
        stderr=log,
        start_new_session=True,
    )
print(job.name)
