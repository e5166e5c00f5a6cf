"""Where compiled code is kept for later processes."""

import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

import bnnbench

ROOT = Path(bnnbench.__file__).resolve().parent.parent
"""The checkout, or the folder of installed packages."""


def places_for(folder: Path, name: str) -> tuple[Path, ...]:
    """Return where code from the sources in a folder may be kept, the best place first.

    Beside the sources in a checkout; an installed package's folder is left as it was installed.
    """
    home = Path.home() / ".cache" / "bnnbench" / name
    in_checkout = (ROOT / "pyproject.toml").is_file()
    return (folder / "__pycache__", home) if in_checkout else (home,)


def kept_folder(places: Sequence[Path], digest: str, here: Path) -> Path | None:
    """Return a folder for code from sources of this digest, in the first place to write to.

    Folders of earlier sources beside it are removed where the place lies in `here`, which no other
    checkout uses. None where nothing can be kept.
    """
    for place in places:
        folder = place / f"compiled-{digest[:16]}"
        if _is_writable(folder):
            if place.is_relative_to(here):
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
