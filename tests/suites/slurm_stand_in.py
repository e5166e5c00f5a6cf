"""Slurm commands that run jobs on this machine, as far as submitit needs them.

While the folder contains a file named `hold`, jobs stay in the queue.
"""

import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

COMMANDS = ("sbatch", "srun", "sacct", "scancel")

NUMBERS = {"SLURM_NTASKS": "1", "SLURM_JOB_NUM_NODES": "1"} | dict.fromkeys(
    ("SLURM_NODEID", "SLURM_PROCID", "SLURM_LOCALID"), "0"
)


PYTHON = "python"
"""The Python of jobs, which starts at once."""


def installed(folder: Path) -> dict[str, str]:
    """Put the commands into a folder, and return the environment variables that find them."""
    from tests.warm import python

    folder.mkdir()
    for name in COMMANDS:
        script = folder / name
        script.write_text(
            f'#!/bin/sh\nexec {sys.executable} -P {Path(__file__)} {folder} {name} "$@"\n'
        )
        script.chmod(0o755)
    start = folder / PYTHON
    start.write_text(f'#!/bin/sh\nexec {shlex.join(python())} "$@"\n')
    start.chmod(0o755)
    return {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}


def scripts(folder: Path) -> list[str]:
    """Return the submitted jobs, in order."""
    return [path.read_text() for path in sorted(folder.glob("*.sh"))]


def sbatch(folder: Path, file: str) -> None:
    text = Path(file).read_text()
    if "--account=unknown" in text:
        sys.exit("sbatch: error: Invalid account or account/partition combination specified")
    number = str(101 + len(scripts(folder)))
    (folder / f"{number}.sh").write_text(text)
    array = re.search(r"^#SBATCH --array=0-(\d+)", text, re.MULTILINE)
    names = [f"{number}_{index}" for index in range(int(array[1]) + 1)] if array else [number]
    for name in names:
        (folder / f"{name}.state").write_text("PENDING")
        command = [sys.executable, "-P", __file__, str(folder), "job", name]
        null = subprocess.DEVNULL
        started = subprocess.Popen(command, start_new_session=True, stdout=null, stderr=null)
        (folder / f"{name}.pid").write_text(str(started.pid))
    print(f"Submitted batch job {number}")


def job(folder: Path, name: str) -> None:
    """Wait in the queue, then run a job; its child processes end with it."""
    state = folder / f"{name}.state"
    while (folder / "hold").exists():
        time.sleep(0.1)
    state.write_text("RUNNING")
    number, _, index = name.partition("_")
    identity = {"SLURM_JOB_ID": number} | NUMBERS
    if index:
        identity |= {"SLURM_ARRAY_JOB_ID": number, "SLURM_ARRAY_TASK_ID": index}
    code = subprocess.call(["bash", str(folder / f"{number}.sh")], env=os.environ | identity)
    state.write_text("COMPLETED" if code == 0 else "FAILED")


def srun(folder: Path, *arguments: str) -> None:
    """Run a command with its output in files."""
    places = {}
    left = list(arguments)
    while left[0].startswith("--"):
        flag = left.pop(0)
        if flag in ("--output", "--error"):
            places[flag] = left.pop(0)
    number = os.environ["SLURM_JOB_ID"]
    index = os.environ.get("SLURM_ARRAY_TASK_ID", "")
    for flag, descriptor in (("--output", 1), ("--error", 2)):
        path = places[flag]
        for mark, text in (("%j", number), ("%A", number), ("%a", index), ("%t", "0")):
            path = path.replace(mark, text)
        os.dup2(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_APPEND), descriptor)
    if left[0] == sys.executable:
        left[0] = str(folder / PYTHON)
    os.execvp(left[0], left)


def sacct(folder: Path, *arguments: str) -> None:
    print("JobID|State|NodeList")
    for path in sorted(folder.glob("*.state")):
        print(f"{path.stem}|{path.read_text()}|here")


def scancel(folder: Path, name: str) -> None:
    for path in folder.glob(f"{name}*.pid"):
        if (state := path.with_suffix(".state")).read_text() in ("PENDING", "RUNNING"):
            state.write_text("CANCELLED by 0")
            os.killpg(int(path.read_text()), signal.SIGKILL)


if __name__ == "__main__":
    place, called, *rest = sys.argv[1:]
    globals()[called](Path(place), *rest)
