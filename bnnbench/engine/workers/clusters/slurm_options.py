"""Options of Slurm's sbatch on the command line of a suite: NAME=VALUE, or only NAME."""

import re
from collections.abc import Mapping

FLAGS: Mapping[str, str] = {"partition": "--partition NAME", "time": "--minutes N"}
"""Options that have a flag on the command line."""

SET_ALREADY = (
    *("array", "error", "nodes", "ntasks", "ntasks-per-node", "open-mode", "output", "parsable"),
    *("signal", "test-only", "wait", "wrap"),
)

CPUS = "cpus-per-task"

OF_GPUS = re.compile(r"gpus(-per-\w+)?|gres")

Options = Mapping[str, str | bool]
"""Name of an sbatch option → its value; True for a switch."""


def read(text: str) -> tuple[str, str | bool]:
    """Return the name and the value of an option. Raises ValueError with the reason."""
    name, given, value = text.partition("=")
    if not re.fullmatch(r"[a-z][a-z-]+", name) or (given and not value) or not text.isprintable():
        raise ValueError(
            "needs an sbatch option without its dashes, such as account=abc, gres=gpu:a100:1 or "
            f"exclusive; got {text!r}"
        )
    if name in FLAGS:
        raise ValueError(f"{name}: use {FLAGS[name]}")
    if name in SET_ALREADY:
        raise ValueError(f"{name}: cannot be changed, because this command's jobs depend on it")
    if name == CPUS and not re.fullmatch(r"[1-9]\d*", value):
        raise ValueError(f"{name}: needs a whole number, 1 or more; got {value!r}")
    return name, value if given else True


def cpus(options: Options) -> int:
    """Return the number of processors per job."""
    return int(options.get(CPUS, 1))


def asks_for_gpus(options: Options) -> bool:
    """Return whether these options request GPUs for jobs."""
    return any(
        OF_GPUS.fullmatch(name) and (name != "gres" or "gpu" in str(value))
        for name, value in options.items()
    )
