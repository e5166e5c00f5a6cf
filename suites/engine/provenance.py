"""Where a number comes from: commit, versions, device, threads."""

import contextlib
import functools
import importlib.metadata
import os
import platform
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

import torch

from suites.engine.clock import now

PACKAGES = ("torch", "numpy", "scipy", "scikit-learn", "pandas", "numba", "pillow", "cupy-cuda13x")


def provenance(device: torch.device) -> Mapping[str, object]:
    """Return commit, dirty flag, package versions, machine and device as plain data."""
    return dict(_fixed(device)) | {
        "torch_threads": torch.get_num_threads(),
        "finished": now(),
    }


@functools.cache
def _fixed(device: torch.device) -> Mapping[str, object]:
    return {
        "commit": _git("rev-parse", "HEAD"),
        "dirty": bool(_git("status", "--porcelain", "--untracked-files=no")),
        "python": platform.python_version(),
        "packages": {name: version for name in PACKAGES if (version := _version(name))},
        "cpu": _cpu(),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "device": torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu",
    }


def _cpu() -> str:
    """Return the processor's name and the instructions that torch chose for it."""
    name = platform.processor()
    with contextlib.suppress(OSError):
        table = Path("/proc/cpuinfo").read_text()
        told = re.search(r"^model name\s*:\s*(.+)$", table, re.MULTILINE)
        name = told[1].strip() if told else name
    return f"{name or platform.machine()}, {torch.backends.cpu.get_cpu_capability()}"


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _git(*arguments: str) -> str | None:
    """Return git's answer about this checkout, or None where there is none."""
    command = ["git", "-C", str(Path(__file__).parent), *arguments]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=20, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return answer.stdout.strip()
