"""The provenance of a result: commit, versions, device, threads."""

import functools
import importlib.metadata
import os
import platform
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import torch

import bnnbench
from bnnbench.datasets.base import Split
from bnnbench.engine.declare.grid import Run
from bnnbench.engine.records.clock import now
from bnnbench.engine.run.measuring import processor
from bnnbench.methods.source_code import (
    Class,
    classes_of,
    method_digest,
    packages_behind,
    sources_of,
)

ROOT = Path(bnnbench.__file__).resolve().parent.parent
"""The checkout, or the folder of installed packages."""

PACKAGES = (
    *("torch", "numpy", "scipy", "scikit-learn", "pandas", "numba", "pillow"),
    *("cupy-cuda12x", "cupy-cuda13x"),
)

UNKNOWN = "unknown"
"""The device of a run whose process was lost before reporting it."""


@dataclass(frozen=True)
class Code:
    """The state of a method's code when the command planned the run."""

    sha256: str | None = None
    """Digest of meaning of the method's code; None if not computed."""
    dirty: bool | None = None
    """True if a file of this code differs from the commit; None without a checkout."""


def code_of(method: object) -> Code:
    """Return the state of a method's sources."""
    classes = classes_of(method)
    changed = _changed_files()
    took_part = bool(changed and changed & _files_that_take_part(classes))
    return Code(method_digest(method), took_part if _git("rev-parse", "HEAD") else None)


def provenance(device: torch.device | None, method: object, code: Code) -> Mapping[str, object]:
    """Return commit, package versions, machine and device of a method's run as plain data.

    If the device is unknown, pass None.
    """
    fixed = dict(_fixed(device))
    packages = dict(cast(Mapping[str, str], fixed["packages"]))
    for each in classes_of(method):
        packages |= packages_behind(each.module)
    return fixed | {
        "dirty": code.dirty,
        "packages": dict(sorted(packages.items())),
        "torch_threads": torch.get_num_threads(),
        "finished": now(),
    }


def of_modules(run: Run, train: Split) -> Mapping[str, object]:
    """Return package versions and computation mode of custom networks; empty without any."""
    if not run.modules:
        return {}
    from bnnbench.methods.networks.modules.facts import computing, packages

    shape = tuple(train.inputs.shape[1:])
    return {
        "module_packages": packages(run.architecture),
        "module_members": computing(run.architecture, shape),
    }


@functools.cache
def _fixed(device: torch.device | None) -> Mapping[str, object]:
    return {
        "version": _version("bnnbench"),
        "commit": _git("rev-parse", "HEAD"),
        "python": platform.python_version(),
        "packages": {name: version for name in PACKAGES if (version := _version(name))},
        "cpu": processor.name(),
        "cpu_model": processor.model(),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "device": _name(device),
    }


def _name(device: torch.device | None) -> str:
    if device is None:
        return UNKNOWN
    return torch.cuda.get_device_name(device) if device.type == "cuda" else device.type


@functools.cache
def _changed_files() -> frozenset[Path]:
    """Return the files of the checkout that differ from the commit, including untracked files."""
    lines = (_git("status", "--porcelain", "-z", "--untracked-files=all") or "").split("\0")
    return frozenset(ROOT / line[3:] for line in lines if line[3:])


def _files_that_take_part(classes: Iterable[Class]) -> frozenset[Path]:
    """Return the sources of a method's classes, and those of all modules of this process."""
    files = (getattr(m, "__file__", None) for m in [*sys.modules.values()])
    loaded = frozenset(_path(file) for file in files if file)
    return loaded | sources_of(*classes)


@functools.cache
def _path(file: str) -> Path:
    """Return the path of a module's file; cached, because every run needs thousands."""
    return Path(file)


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


@functools.cache
def _git(*arguments: str) -> str | None:
    """Return git's output for this project's checkout, or None if there is no checkout.

    An installed wheel may lie inside another project's checkout, whose commit means nothing here.
    """
    if not (ROOT / ".git").exists() or not (ROOT / "bnnbench").is_dir():
        return None
    command = ["git", "-C", str(ROOT), *arguments]
    try:
        process = subprocess.run(command, capture_output=True, text=True, timeout=20, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return process.stdout.strip("\n")
