"""The processor of this machine: its name, and the exact model that a name may hide."""

import contextlib
import platform
import re
from pathlib import Path

import torch

TABLE = Path("/proc/cpuinfo")
MODEL = ("vendor_id", "cpu family", "model", "stepping")
MODEL_OF_ARM = ("CPU implementer", "CPU architecture", "CPU variant", "CPU part", "CPU revision")


def name() -> str:
    """Return the processor's name and the instructions that torch chose for it."""
    stated = _table().get("model name") or platform.processor() or platform.machine()
    return f"{stated}, {torch.backends.cpu.get_cpu_capability()}"


def model() -> str:
    """Return vendor, family, model and stepping, which virtual machines leave out of the name.

    "" if the system does not state them.
    """
    table = _table()
    return ", ".join(
        f"{key.removeprefix('CPU ').removeprefix('cpu ').removesuffix('_id')} {table[key]}"
        for key in (*MODEL, *MODEL_OF_ARM)
        if key in table
    )


def _table() -> dict[str, str]:
    """Return the lines about the first processor; empty on systems other than Linux."""
    with contextlib.suppress(OSError):
        first = TABLE.read_text().partition("\n\n")[0]
        return dict(re.findall(r"^([^:\n]+?)\s*:\s*(\S.*)$", first, re.MULTILINE))
    return {}
