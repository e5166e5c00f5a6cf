"""Corrupted test images, one corruption and severity at a time, cached on disk between runs."""

import functools
import hashlib
import os
import warnings
from pathlib import Path

import numpy as np
import PIL
import scipy
from PIL import features

from bnnbench.datasets.corruptions import corrupt
from bnnbench.datasets.corruptions.files import official
from bnnbench.datasets.corruptions.files.textures import textures
from bnnbench.datasets.corruptions.levels import Images
from bnnbench.datasets.origins import Origin
from bnnbench.datasets.reading import files, whole_files

FOLDER = "corrupted"
"""Folder of blocks within the data folder; its files can be removed at any time."""

KEPT_BYTES = 6_000_000_000
"""Cache size above which the least recently used blocks are removed. CIFAR-10 takes 2.9 GB in all,
in blocks of 31 MB.
"""

VERSION = 1
"""Raised by 1 whenever a change to this code changes the bytes."""


def provided(images: Images, name: str, severity: int) -> tuple[Images, Origin]:
    """Return corrupted images: the official ones if their file is here, else computed ones.

    Computed images also count as original if they equal the official ones byte by byte. Raises
    DataDamaged if an official file is altered, DataUnavailable if the textures for frost are
    missing.
    """
    archive = official.of(images)
    if archive and archive.has(name):
        return archive.rows(name, severity, len(images)), "original"
    computed = block(images, name, severity)
    is_official = archive is not None and archive.holds(name, severity, computed)
    return computed, "original" if is_official else "generated"


def can_be_original(name: str) -> bool:
    """Return whether the official file is here or a computed corruption can equal it."""
    return any(name in archive.blocks or archive.has(name) for archive in official.OFFICIAL)


def block(images: Images, name: str, severity: int) -> Images:
    """Return images corrupted with seed 0, from disk if they were computed before."""
    key = _key(images, name, severity)
    folder = files.folder() / FOLDER
    for path in sorted(folder.glob(f"{name}_{severity}_{key}_*.npy")):
        cached = _read_block(path, images.shape)
        if cached is not None:
            return cached
    corrupted = corrupt(images, name, severity)
    try:
        _write_block(corrupted, folder / f"{name}_{severity}_{key}_{official.md5(corrupted)}.npy")
    except OSError as error:
        warnings.warn(
            f"cannot cache corrupted images in {folder}; every run recomputes them: {error}",
            stacklevel=2,
        )
    return corrupted


def _key(images: Images, name: str, severity: int) -> str:
    """Return a name that depends on everything that determines a block's content."""
    digest = hashlib.sha256(repr((VERSION, name, severity, images.shape, versions())).encode())
    digest.update(np.ascontiguousarray(images).data)
    if name == "frost":
        for texture in textures():
            digest.update(np.ascontiguousarray(texture).data)
    return digest.hexdigest()[:20]


@functools.cache
def versions() -> tuple[str, ...]:
    """Return the versions of the libraries that determine the bytes."""
    jpeg = features.version("libjpeg_turbo") or features.version("jpg")
    return np.__version__, scipy.__version__, PIL.__version__, str(jpeg)


def _read_block(path: Path, shape: tuple[int, ...]) -> Images | None:
    """Return a block whose checksum matches its name; remove the file otherwise."""
    try:
        content = np.load(path, mmap_mode="r", allow_pickle=False)
        if content.shape == shape and official.md5(content) == path.stem[-32:]:
            os.utime(path)
            return np.array(content)
    except (OSError, ValueError, EOFError):
        pass
    path.unlink(missing_ok=True)
    return None


def _write_block(block: Images, path: Path) -> None:
    """Write a block, then remove the least recently used ones until `KEPT_BYTES` suffice."""
    with whole_files.whole(path) as file:
        np.save(file, block)
    ages = []
    for block_path in path.parent.glob("*.npy"):
        try:
            stat = block_path.stat()
        except FileNotFoundError:  # removed by another process
            continue
        ages.append((stat.st_mtime_ns, stat.st_size, block_path))
    excess = sum(size for _, size, _ in ages) - KEPT_BYTES
    for _, size, block_path in sorted(ages):
        if excess <= 0 or block_path == path:
            break
        block_path.unlink(missing_ok=True)
        excess -= size
