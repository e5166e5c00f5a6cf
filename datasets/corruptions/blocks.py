"""Corrupted test images, one corruption and severity at a time, kept on disk between runs."""

import functools
import hashlib
import os
import warnings
from pathlib import Path

import numpy as np
import PIL
import scipy
from PIL import features

from bnnbench.datasets.base import Origin
from bnnbench.datasets.corruptions import corrupt, official
from bnnbench.datasets.corruptions.levels import Images
from bnnbench.datasets.corruptions.textures import textures
from bnnbench.datasets.reading import files, whole_files

FOLDER = "corrupted"
"""Of the data folder; whatever is in it can be removed at any time."""

KEPT_BYTES = 6_000_000_000
"""The blocks used longest ago go beyond this. All of CIFAR-10 are 2.9 GB, of 31 MB each."""

VERSION = 1
"""Counts the changes that give other bytes."""


def provided(images: Images, name: str, severity: int) -> tuple[Images, Origin]:
    """Return corrupted images: the official ones if they are here, else those made here.

    Those are original too if, byte by byte, they are the official ones. Raises DataDamaged for
    an official file that is altered, DataUnavailable for frost without its textures.
    """
    known = official.of(images)
    if known and known.has(name):
        return known.rows(name, severity, len(images)), "original"
    made = block(images, name, severity)
    return made, "original" if known and known.holds(name, severity, made) else "generated"


def can_be_original(name: str) -> bool:
    """Return whether a corruption made here can be the official one, or the file is here."""
    return any(name in known.blocks or known.has(name) for known in official.OFFICIAL)


def block(images: Images, name: str, severity: int) -> Images:
    """Return images corrupted under seed 0, from the disk if they were made before."""
    key = _key(images, name, severity)
    folder = files.folder() / FOLDER
    for place in sorted(folder.glob(f"{name}_{severity}_{key}_*.npy")):
        kept = _read(place, images.shape)
        if kept is not None:
            return kept
    made = corrupt(images, name, severity)
    try:
        _keep(made, folder / f"{name}_{severity}_{key}_{official.md5(made)}.npy")
    except OSError as error:
        warnings.warn(
            f"corrupted images cannot be kept in {folder} and are made anew in every run: {error}",
            stacklevel=2,
        )
    return made


def _key(images: Images, name: str, severity: int) -> str:
    """Return a name for all that determines a block."""
    digest = hashlib.sha256(repr((VERSION, name, severity, images.shape, versions())).encode())
    digest.update(np.ascontiguousarray(images).data)
    if name == "frost":
        for texture in textures():
            digest.update(np.ascontiguousarray(texture).data)
    return digest.hexdigest()[:20]


@functools.cache
def versions() -> tuple[str, ...]:
    """Return the versions of the libraries whose results the bytes are."""
    jpeg = features.version("libjpeg_turbo") or features.version("jpg")
    return np.__version__, scipy.__version__, PIL.__version__, str(jpeg)


def _read(place: Path, shape: tuple[int, ...]) -> Images | None:
    """Return a block that has the checksum of its name; another is removed."""
    try:
        kept = np.load(place, allow_pickle=False)
        if kept.shape == shape and official.md5(kept) == place.stem[-32:]:
            os.utime(place)
            return kept
    except (OSError, ValueError, EOFError):
        pass
    place.unlink(missing_ok=True)
    return None


def _keep(made: Images, place: Path) -> None:
    """Write a block and remove those used longest ago, down to `KEPT_BYTES`."""
    with whole_files.whole(place) as content:
        np.save(content, made)
    ages = []
    for other in place.parent.glob("*.npy"):
        try:
            stat = other.stat()
        except FileNotFoundError:  # another process removed it
            continue
        ages.append((stat.st_mtime_ns, stat.st_size, other))
    excess = sum(size for _, size, _ in ages) - KEPT_BYTES
    for _, size, other in sorted(ages):
        if excess <= 0 or other == place:
            break
        other.unlink(missing_ok=True)
        excess -= size
