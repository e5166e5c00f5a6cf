"""Folders in which compiled code is cached for later processes."""

import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

import bnnbench

ROOT = Path(bnnbench.__file__).resolve().parent.parent
"""The checkout, or the folder of installed packages."""


def places_for(folder: Path, name: str) -> tuple[Path, ...]:
    """Return folders for code compiled from a folder's sources, in order of preference.

    In a checkout, the first is next to the sources; an installed package's folder is not changed.
    """
    home = Path.home() / ".cache" / "bnnbench" / name
    in_checkout = (ROOT / "pyproject.toml").is_file()
    return (folder / "__pycache__", home) if in_checkout else (home,)


def cache_folder(places: Sequence[Path], digest: str, private: Path) -> Path | None:
    """Return a folder for code from sources of this digest, in the first writable place.

    Folders of earlier sources next to it are removed if the place lies in `private`, which no other
    checkout uses. Returns None if nothing can be cached.
    """
    for place in places:
        folder = place / f"compiled-{digest[:16]}"
        if _is_writable(folder):
            if place.is_relative_to(private):
                for earlier in place.glob("compiled-*"):
                    if earlier != folder:
                        shutil.rmtree(earlier, ignore_errors=True)
            return folder
    return None


def _is_writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False
