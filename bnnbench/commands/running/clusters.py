"""The flags for clusters only."""

from collections.abc import Callable
from pathlib import Path

from bnnbench.commands.running import values
from bnnbench.engine.workers import Settings


def add_flags(add: Callable[..., object]) -> None:
    """Add the flags to a parser, through its `add_argument`."""
    add(
        "--address",
        metavar="ADDRESS",
        help="address of a Ray cluster, or auto; with Slurm, local runs its jobs on this machine",
    )
    add(
        "--wait",
        type=values.minutes,
        metavar="MINUTES",
        default=15.0,
        help="maximum wait for a Ray cluster to start its first worker; default: %(default)g",
    )
    add(
        "--working-dir",
        type=Path,
        metavar="DIR",
        help="folder that Ray copies to its machines if they share no disk with this one: the "
        "folder of your methods, or a checkout of this project; files in its .gitignore stay here",
    )
    add(
        "--gpus",
        type=values.share,
        metavar="SHARE",
        help="GPUs per worker of a cluster, such as 0.25 on Ray or 1 on Slurm; default: none, or "
        "one with --device cuda",
    )
    add("--partition", metavar="NAME", help="Slurm partition to submit jobs to")
    add(
        "--slurm",
        type=values.slurm,
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="any option of Slurm's sbatch: account=abc, qos=long, constraint=ib, gres=gpu:a100:1, "
        "exclusive; with cpus-per-task=8, a job does eight runs at once; repeat for each option",
    )
    add(
        "--runs-per-job",
        type=values.count(),
        metavar="N",
        help="runs per Slurm job, done one after the other on each of its processors; "
        "default: one job per fit",
    )
    add(
        "--detach",
        action="store_true",
        help="submit Slurm jobs and exit; the jobs write to --out themselves. The same command, "
        "repeated, submits no job twice, and writes tables and report once all jobs have ended",
    )
    add(
        "--minutes",
        type=values.count(),
        metavar="N",
        help=f"time limit of each Slurm job; default: {Settings.minutes}",
    )
