"""The folder of finished runs: of the checkout, of the package bnnbench-results, or downloaded."""

import importlib.util
import json
import os
import tempfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bnnbench.datasets.errors import DataUnavailable
from bnnbench.datasets.reading.files import DataFile, FileSet

CHECKOUT = Path(__file__).resolve().parents[2] / "docs" / "bundle"
PACKAGE = "bnnbench_results"
INSIDE = f"{PACKAGE}/bundle/"
"""Folder of the runs in the package's wheel."""
RELEASED = Path(__file__).with_name("results_wheel.json")
"""Name, size, SHA-256 and URL of the package's wheel; only a released wheel of bnnbench has it."""

CURE = (
    "install them with `pip install 'bnnbench[results]'`, download them with `bnnbench data fetch "
    "results`, or name a folder that has them"
)


class NoFinishedRuns(ValueError):
    """This machine has no finished runs."""

    def __init__(self) -> None:
        super().__init__(f"the finished runs of bnnbench are not on this machine: {CURE}")


def folder() -> Path:
    """Return the folder of finished runs: a bundle, references and oracles.

    It is that of the checkout, else of the installed package, else the downloaded one. Raises
    `NoFinishedRuns`.
    """
    if (folder := next(present(), None)) is None:
        raise NoFinishedRuns
    return folder


def part(name: str) -> Path:
    """Return a folder in the folder of finished runs, in the checkout's if there are none."""
    return next(present(), CHECKOUT) / name


def is_released(path: Path) -> bool:
    """Return whether a folder lies in the installed or downloaded runs, which nothing changes."""
    places = (place.resolve() for place in (_installed(), RESULTS.place) if place)
    return any(path.resolve().is_relative_to(place) for place in places)


def present() -> Iterator[Path]:
    """Yield the folders that exist; later ones are not looked for before they are asked for."""
    for place_of in (lambda: CHECKOUT, _installed, lambda: RESULTS.place):
        if (place := place_of()) and place.is_dir():
            yield place


def _installed() -> Path | None:
    """Return the folder of the installed package; None without it."""
    package = importlib.util.find_spec(PACKAGE)
    return Path(package.origin).parent / "bundle" if package and package.origin else None


@dataclass(frozen=True)
class Results(FileSet):
    """The finished runs as a download: the wheel of bnnbench-results, unpacked."""

    @property
    def bytes(self) -> int:
        """The size of the runs on this machine, else of their wheel."""
        here = next(present(), None)
        return (
            sum(p.stat().st_size for p in here.rglob("*") if p.is_file()) if here else super().bytes
        )

    @property
    def place(self) -> Path | None:
        """The folder of the downloaded runs, whether or not it exists; None without a download."""
        return self.files[0].place.with_suffix("") if self.files else None

    def missing(self) -> tuple[str, ...]:
        """Return the folder that a download would fill, unless the runs are on this machine."""
        return () if next(present(), None) else (str(self.place or CHECKOUT),)

    def fetch(self) -> None:
        """Download, verify and unpack the runs unless they are here; raises `DataUnavailable`."""
        if not self.missing():
            return
        if self.place is None:
            raise DataUnavailable(
                "this bnnbench was not built by `make wheels` and knows no checksum of results to "
                "download: in a clone, install them with `pip install ./release/results`"
            )
        super().fetch()
        _unpack(self.files[0].place, self.place)


def _wheel() -> tuple[DataFile, ...]:
    """Return the wheel that this release downloads; empty if it is not a release."""
    if not RELEASED.is_file():
        return ()
    stated = json.loads(RELEASED.read_text("utf-8"))
    checksum, name = f"sha256:{stated['sha256']}", f"results/{stated['name']}"
    return (DataFile("results", name, checksum, stated["bytes"], (stated["url"],)),)


RESULTS = Results("results", _wheel(), "Apache-2.0")


def _unpack(wheel: Path, target: Path) -> None:
    """Move the runs in a verified wheel to a folder, which appears whole, and remove the wheel."""
    with tempfile.TemporaryDirectory(dir=wheel.parent) as folder, zipfile.ZipFile(wheel) as zipped:
        zipped.extractall(folder, [name for name in zipped.namelist() if name.startswith(INSIDE)])
        os.replace(Path(folder) / INSIDE, target)
    wheel.unlink()
