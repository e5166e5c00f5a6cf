"""The flags that only clusters need."""

from collections.abc import Callable
from pathlib import Path

from bnnbench.commands.running import values


def add_flags(add: Callable[..., object]) -> None:
    """Add the flags to a parser, whose `add_argument` is given."""
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
        help="longest wait for a Ray cluster to start a first worker; default: %(default)g",
    )
    add(
        "--working-dir",
        type=Path,
        metavar="DIR",
        help="folder that Ray copies to its machines, where they share no disk with this one: that "
        "of your methods, or a checkout of this project; what its .gitignore names stays here",
    )
    add(
        "--gpus",
        type=values.share,
        metavar="SHARE",
        help="GPUs for each worker of a cluster, 0.25 on Ray or 1 on Slurm; default: none, with "
        "--device cuda one",
    )
    add("--partition", metavar="NAME", help="Slurm partition to submit jobs to")
    add(
        "--slurm",
        type=values.slurm,
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="any option of Slurm's sbatch: account=abc, qos=long, constraint=ib, gres=gpu:a100:1, "
        "exclusive; with cpus-per-task=8, eight runs of a job are carried out at once; once for "
        "each option",
    )
    add(
        "--runs-per-job",
        type=values.count(),
        metavar="N",
        help="runs that a Slurm job carries out, one after the other on each of its processors; "
        "default: a job for each fit",
    )
    add(
        "--detach",
        action="store_true",
        help="submit Slurm jobs and end: they write to --out themselves; the same command again "
        "submits none of them twice, and writes tables and report when they have ended",
    )
    add(
        "--minutes",
        type=values.count(),
        metavar="N",
        default=240,
        help="time limit of each Slurm job",
    )
