"""The predictions of bundled runs, read from archives made by `bnnbench bundle --predictions`.

They are read in place, one run at a time, without unpacking.
"""

import os
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from bnnbench.datasets.reading.whole_files import open_regular
from bnnbench.engine.store import archives
from bnnbench.engine.store.rounded import RoundedStore
from bnnbench.engine.store.store import PREDICTIONS, CorruptRecord, Store, sha256
from bnnbench.reports.read.load import Results

if TYPE_CHECKING:
    from bnnbench.engine.run.packing import Predictions

COPY_AGAIN = "copy the archive again from where it was made"


@dataclass(frozen=True)
class Span:
    """The bytes of one run's predictions in an archive."""

    archive: Path
    start: int
    size: int


@dataclass(frozen=True)
class BundledStore(Store):
    """A store whose predictions are in archives; it is never written to."""

    spans: Mapping[str, Span]
    """key → location of its predictions"""
    checksums: Mapping[str, str]
    """key → the SHA-256 stated in its record"""
    rounded: RoundedStore | None = None
    """The rounded predictions of runs that are in no archive."""

    def predictions(self, key: str) -> "Predictions":
        """Return the predictions of a run, rounded if no archive has them."""
        if key not in self.spans and self.rounded:
            return self.rounded.predictions(key)
        return super().predictions(key)

    def packed_bytes(self, key: str) -> int:
        """Return the size of the packed predictions of a run; raises FileNotFoundError."""
        if key not in self.spans:
            if self.rounded:
                return self.rounded.packed_bytes(key)
            raise FileNotFoundError(f"no archive has the predictions of {key}")
        return self.spans[key].size

    def packed(self, key: str) -> bytes:
        """Return the checked packed predictions of a run; raises `CorruptRecord`."""
        span = self.spans.get(key)
        if span is None:
            path = self.runs / key / PREDICTIONS
            raise CorruptRecord(path, "no archive has it", "give one that has it by --predictions")
        try:
            with span.archive.open("rb") as file:
                file.seek(span.start)
                content = file.read(span.size)
        except OSError as error:
            raise CorruptRecord(span.archive, error, COPY_AGAIN) from error
        if sha256(content) != self.checksums.get(key):
            reason = f"the predictions of {key} do not match the checksum in its record"
            raise CorruptRecord(span.archive, reason, COPY_AGAIN)
        return content


def spans_in(archives: Sequence[Path]) -> dict[str, Span]:
    """Return key → location of its predictions; the first one, if there are several.

    Raises ValueError for a file that is not an archive of predictions.
    """
    spans: dict[str, Span] = {}
    for path in archives:
        try:
            in_archive = _spans(path)
        except (OSError, EOFError, tarfile.TarError, ValueError) as error:
            raise ValueError(f"{path} is not an archive of predictions: {error}") from error
        if not in_archive:
            raise ValueError(
                f"{path} has no predictions; `bnnbench bundle RESULTS --predictions` writes some"
            )
        spans = in_archive | spans
    return spans


def _spans(path: Path) -> dict[str, Span]:
    """Return key → location of its predictions in one archive, whose headers alone are read."""
    spans: dict[str, Span] = {}
    with open_regular(path) as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(0)
        for member in archives.members(file, size, size):
            *_, folder, name = "", *Path(member.name).parts
            if name == PREDICTIONS and folder:
                spans[folder] = Span(path, file.tell(), member.size)
            member.content.pass_over(file)
    return spans


def with_predictions(results: Results, spans: Mapping[str, Span]) -> Results:
    """Return the results of a bundle with the predictions of its runs, if there are any."""
    held = {r.key: r for r in results.records if r.key in spans and r.outcome.predictions_sha256}
    if not held:
        return results
    store = BundledStore(
        results.store.folder,
        {key: spans[key] for key in held},
        {key: str(record.outcome.predictions_sha256) for key, record in held.items()},
        results.store if isinstance(results.store, RoundedStore) else None,
    )
    files = sorted({span.archive for span in store.spans.values()})
    return replace(results, store=store, sources=(*results.sources, *files))
