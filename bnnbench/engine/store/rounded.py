"""Rounded predictions of a bundle's runs, in a file small enough for a repository.

A tar archive of `runs/<key>/rounded-<checksum>.npz`; the checksum, shortened, is that of the whole
predictions in the run's record. `bnnbench.engine.run.rounding` says how numbers are rounded.
"""

import functools
import io
import lzma
import tarfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bnnbench.datasets.reading.whole_files import open_regular, write_whole
from bnnbench.engine.records.record import Record
from bnnbench.engine.store import archives
from bnnbench.engine.store.bundles import COPY_AGAIN, FILTERS, LARGEST, LARGEST_RECORD
from bnnbench.engine.store.store import CorruptRecord, Store

if TYPE_CHECKING:
    from bnnbench.engine.run.packing import Predictions

NAME = "rounded.tar.xz"

MOST_BYTES = 3_000_000
"""A file that would be larger has the predictions of fewer folds, the first ones."""

SEAL_LENGTH = 16
"""Digits of the checksum in a name."""

NUMBERS_OF_16_BITS = {"lc": 0, "lp": 1, "pb": 1}
"""Settings of the compression; they save one percent."""


@dataclass(frozen=True)
class RoundedStore(Store):
    """The store of a bundle's runs, whose predictions are rounded; it is never written to."""

    folders: tuple[Path, ...]
    """The bundle's folders; their files are read when the first prediction is asked for."""
    seals: Mapping[str, str]
    """key → the SHA-256 of the whole predictions, from its record"""

    @functools.cached_property
    def _held(self) -> Mapping[str, bytes]:
        return {name: content for folder in self.folders for name, content in read(folder).items()}

    def packed_bytes(self, key: str) -> int:
        """Return the size of a run's packed predictions; raises FileNotFoundError for none."""
        return len(self.packed(key))

    def packed(self, key: str) -> bytes:
        """Return the packed rounded predictions of a run.

        Raises FileNotFoundError if there are none, and `CorruptRecord` for a damaged file.
        """
        if (content := self._held.get(_name(key, self.seals.get(key, "")))) is None:
            raise FileNotFoundError(f"no {NAME} has the predictions of {key}")
        return content

    def predictions(self, key: str) -> "Predictions":
        """Return the rounded predictions of a run; raises what `packed` raises."""
        from bnnbench.engine.run.rounding import unpack_rounded  # this imports torch

        return unpack_rounded(self.packed(key))


def write(folder: Path, records: Sequence[Record], pack: Callable[[Record], bytes]) -> int:
    """Write the rounded predictions of runs, and return of how many.

    `pack` returns those of one run. If the file would exceed `MOST_BYTES`, it has those of as many
    folds as fit, from the first on. Equal predictions give equal bytes. Raises ValueError if not
    even one fold fits.
    """
    packed = {record.key: pack(record) for record in records}
    for last in sorted({record.fold for record in records}, reverse=True):
        chosen = [record for record in records if record.fold <= last]
        content = _archive(chosen, packed)
        if len(content) <= MOST_BYTES:
            write_whole(folder / NAME, content)
            return len(chosen)
    raise ValueError(
        f"there are no predictions of a fold that fit, rounded, into {MOST_BYTES / 1e6:g} MB; "
        "choose data sets by --datasets, or folders of results with predictions"
    )


def _archive(records: Sequence[Record], packed: Mapping[str, bytes]) -> bytes:
    """Return the archive; runs on the same rows stand next to each other."""
    buffer = io.BytesIO()
    with (
        lzma.open(buffer, "wb", filters=[FILTERS[0] | NUMBERS_OF_16_BITS]) as file,
        tarfile.open(fileobj=file, mode="w|", format=tarfile.USTAR_FORMAT) as archive,
    ):
        for record in sorted(records, key=lambda r: (r.profile, r.dataset, r.fold, r.key)):
            entry = tarfile.TarInfo(_name(record.key, str(record.outcome.predictions_sha256)))
            entry.size = len(packed[record.key])
            archive.addfile(entry, io.BytesIO(packed[record.key]))
    return buffer.getvalue()


def _name(key: str, seal: str) -> str:
    return f"runs/{key}/rounded-{seal[:SEAL_LENGTH]}.npz"


def read(folder: Path) -> Mapping[str, bytes]:
    """Return name → packed predictions of a bundle's folder; empty without such a file.

    Raises `CorruptRecord` for an altered file.
    """
    path = folder / NAME
    try:
        with open_regular(path) as file:
            members = archives.members(archives.Unpacked(file), LARGEST_RECORD, LARGEST)
            return {member.name: member.read() for member in members}
    except FileNotFoundError:
        return {}
    except (OSError, EOFError, lzma.LZMAError, tarfile.TarError, ValueError) as error:
        raise CorruptRecord(path, error, COPY_AGAIN) from error
