"""Folders of results, recognised without reading any record."""

import os
import re
from pathlib import Path

KEY = re.compile(r"[0-9a-f]{20}")


def is_store(folder: Path) -> bool:
    """Return whether a folder has a folder of runs, unlike a site, whose `runs` has only pages."""
    runs = folder / "runs"
    return runs.is_dir() and (not any(runs.glob("*.html")) or has_runs(folder))


def has_runs(folder: Path) -> bool:
    """Return whether a folder has runs of a suite."""
    runs = folder / "runs"
    return runs.is_dir() and any(map(KEY.fullmatch, os.listdir(runs)))


def stores_in(folder: Path) -> list[Path]:
    """Return the folders of suites in a folder of results, which may itself be one."""
    if is_store(folder):
        return [folder]
    return sorted(runs.parent for runs in folder.glob("*/runs") if is_store(runs.parent))


def real(path: Path) -> Path:
    """Return a path without symbolic links; a loop of links stays as it is."""
    return Path(os.path.realpath(path))
