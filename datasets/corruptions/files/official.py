"""The official corrupted test images: files to download, verified by MD5.

Source: Hendrycks and Dietterich (2019); zenodo.org/records/2535967 and 3555552.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import UInt8

from bnnbench.datasets.base import ImageSource
from bnnbench.datasets.corruptions.constants import SEVERITIES
from bnnbench.datasets.corruptions.files import checksums
from bnnbench.datasets.corruptions.levels import SIDE, Images
from bnnbench.datasets.official.cifar10 import Cifar10
from bnnbench.datasets.official.cifar100 import Cifar100
from bnnbench.datasets.reading import files
from bnnbench.datasets.reading.files import DataFile, FileSet

ROWS = 10_000
"""Number of images at each severity, in the order of the official test images."""

HEADER_BYTES = 128
LABEL_BYTES = 50_128


@dataclass(frozen=True)
class Official:
    """One archive: a corrupted copy of a source's test images for each name and severity."""

    source: ImageSource
    files: FileSet
    checksums: Mapping[str, str]
    blocks: Mapping[str, tuple[str, ...]]

    def __hash__(self) -> int:
        return hash(self.files.name)

    def file(self, name: str) -> DataFile:
        """Return the file of a corruption, or of the labels."""
        return next(f for f in self.files.files if f.path.endswith(f"/{name}.npy"))

    def has(self, name: str) -> bool:
        """Return whether the file of a corruption is in the data folder."""
        return not files.missing([self.file(name)])

    def rows(self, name: str, severity: int, count: int) -> Images:
        """Return the first images at a severity; raises DataDamaged if the file is altered."""
        path = files.verified(self.file(name))
        start = (severity - 1) * ROWS
        rows = np.load(path, mmap_mode="r", allow_pickle=False)
        return np.array(rows[start : start + count])

    def holds(self, name: str, severity: int, images: UInt8[np.ndarray, "points 32 32 3"]) -> bool:
        """Return whether the images equal all of the file's images at a severity, byte by byte."""
        sums = self.blocks.get(name)
        return sums is not None and sums[severity - 1] == md5(images)


def of(images: UInt8[np.ndarray, "points 32 32 3"]) -> Official | None:
    """Return the archive whose test set begins with these images; None if there is none."""
    for official in OFFICIAL:
        if not official.source.missing("test"):
            test_images, _ = official.source.images("test")
            if len(images) <= len(test_images) and np.array_equal(
                test_images[: len(images)], images
            ):
                return official
    return None


def md5(array: np.ndarray) -> str:
    """Return the MD5 sum of an array's bytes in C order."""
    return hashlib.md5(np.ascontiguousarray(array).data, usedforsecurity=False).hexdigest()


def _official(
    source: ImageSource,
    folder: str,
    archive: DataFile,
    sums: Mapping[str, str],
    blocks: Mapping[str, tuple[str, ...]],
) -> Official:
    images = HEADER_BYTES + len(SEVERITIES) * ROWS * SIDE * SIDE * 3
    members = tuple(
        DataFile(
            archive.source,
            f"{folder}/{name}.npy",
            f"md5:{md5}",
            LABEL_BYTES if name == "labels" else images,
            archive=archive,
        )
        for name, md5 in sums.items()
    )
    return Official(source, FileSet(archive.source, members, "CC BY 4.0"), sums, blocks)


CIFAR10_C = _official(
    Cifar10(),
    "CIFAR-10-C",
    DataFile(
        "cifar10_c",
        "CIFAR-10-C.tar",
        "md5:56bf5dcef84df0e2308c6dcbcbbd8499",
        2_918_471_680,
        ("https://zenodo.org/records/2535967/files/CIFAR-10-C.tar",),
        sha256="c72763e101c723b7c507b96205f7e938912a5d587376173b825850cf3cb876a7",
    ),
    checksums.CIFAR10_C,
    checksums.CIFAR10_C_BLOCKS,
)

CIFAR100_C = _official(
    Cifar100(),
    "CIFAR-100-C",
    DataFile(
        "cifar100_c",
        "CIFAR-100-C.tar",
        "md5:11f0ed0f1191edbf9fa23466ae6021d3",
        urls=("https://zenodo.org/records/3555552/files/CIFAR-100-C.tar",),
        sha256="30ee6543a1bfd049fa33834b7c1ada301e7064b7fbe8fc38340eb8b62ced4b33",
    ),
    checksums.CIFAR100_C,
    checksums.CIFAR100_C_BLOCKS,
)

OFFICIAL = (CIFAR10_C, CIFAR100_C)
CIFAR10_C_FILES, CIFAR100_C_FILES = (archive.files for archive in OFFICIAL)
