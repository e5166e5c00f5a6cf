"""The files that a confined process may read: the system's, Python's, and its method's."""

import glob
import os
import site
import sys
from collections.abc import Iterator, Sequence
from importlib.machinery import EXTENSION_SUFFIXES, SOURCE_SUFFIXES
from pathlib import Path

import bnnbench
from bnnbench.methods import own_files

SYSTEM = (
    *("/usr", "/lib", "/lib32", "/lib64", "/bin", "/sbin", "/etc", "/opt", "/proc", "/sys"),
    *("/nix/store", "/gnu/store", "/run/opengl-driver"),
)
"""Folders of programs, libraries and facts about the machine, where they exist."""

DEVICES = (
    *("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"),
    *("/dev/nvidia*", "/dev/dri", "/dev/kfd"),
)
"""Patterns of devices, GPUs among them, which can also be written to."""

IMPORTED = (*SOURCE_SUFFIXES, *EXTENSION_SUFFIXES)
"""Endings of files with modules."""

DESCRIBED = (".dist-info", ".egg-info")
"""Endings of folders with facts about packages."""


def devices() -> list[Path]:
    """Return the devices of this machine that a process needs."""
    return [Path(path) for pattern in DEVICES for path in glob.glob(pattern)]


def whole_folders(hidden: Sequence[Path]) -> Iterator[Path]:
    """Yield files and folders to be read with all below them, none of them hidden.

    Files of data that come inside an installed package can be read.
    """
    roots = [*map(Path, SYSTEM), *_interpreters(), *map(Path, own_files.folders())]
    roots += map(Path, filter(None, os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep)))
    for folder in search_path():
        roots += [folder] if _is_installed(folder) else _importable(folder)
    for root in dict.fromkeys(roots):
        yield from visible(root.resolve(), hidden)


def search_path() -> list[Path]:
    """Return the folders and files in which modules are looked for, this project's included."""
    return [Path(entry or os.curdir).absolute() for entry in (*sys.path, *bnnbench.__path__)]


def visible(path: Path, hidden: Sequence[Path]) -> Iterator[Path]:
    """Yield the path, or the paths below it that contain nothing hidden."""
    if any(path.is_relative_to(one) for one in hidden):
        return
    if not any(one.is_relative_to(path) for one in hidden):
        yield path
        return
    for child in sorted(path.iterdir()):
        if not child.is_symlink():
            yield from visible(child, hidden)


def _interpreters() -> list[Path]:
    names = (sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix)
    return list(map(Path, names))


def _is_installed(folder: Path) -> bool:
    installed = [*_interpreters(), Path(site.getusersitepackages())]
    return folder.is_file() or any(folder.is_relative_to(one) for one in installed)


def _importable(folder: Path) -> list[Path]:
    """Return modules and packages of a folder, which may have other files."""
    children = sorted(folder.iterdir()) if folder.is_dir() else []
    return [
        child
        for child in children
        if child.name.endswith((*IMPORTED, *DESCRIBED)) or (child / "__init__.py").is_file()
    ]
