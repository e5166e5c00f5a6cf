"""The runs of a bundle, a folder of finished runs with rounded predictions or none.

Each suite folder of a bundle holds complete records of one suite.
"""

import gc
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from bnnbench.engine.records.record import Record
from bnnbench.engine.store import bundles, repetitions, rounded
from bnnbench.engine.store.folders import real
from bnnbench.engine.store.repetitions import Rerun
from bnnbench.engine.store.rounded import RoundedStore
from bnnbench.engine.store.store import Store
from bnnbench.reports.read.load import Results, read, suite_folders


def bundle_folders(path: Path) -> list[Path]:
    """Return a bundle's suite folders, sorted by name; `path` may itself be one.

    Raises ValueError if there is none.
    """
    if not (folders := bundles.folders(path)):
        raise ValueError(
            f"{path} holds no bundle: neither it nor a folder in it has {bundles.NAME}; "
            "`bnnbench bundle RESULTS --out FOLDER` makes one"
        )
    return folders


def holds_bundle(path: Path) -> bool:
    """Return whether a folder is a bundle, or contains bundle folders."""
    return bool(bundles.folders(path))


def suites_in(path: Path) -> dict[str, list[Path]]:
    """Return suite → the bundle folders with its runs; only each folder's first run is read.

    Raises ValueError if there is none, and `CorruptRecord` if a file is altered.
    """
    folders: dict[str, list[Path]] = defaultdict(list)
    for folder in bundle_folders(path):
        folders[bundles.suite_of(folder)].append(folder)
    return folders


def read_bundle(path: Path) -> dict[str, Results]:
    """Return suite → its runs, from all folders of a bundle.

    Raises ValueError if there is none, and `CorruptRecord` if a file is altered.
    """
    by_suite: dict[str, list[Record]] = defaultdict(list)
    sources: dict[str, dict[Path, None]] = defaultdict(dict)
    for folder in bundle_folders(path):
        for record in records_of(folder):
            by_suite[record.suite].append(record)
            sources[record.suite][folder] = None
    return {
        suite: Results(_store(path / suite, of, records), tuple(records), (), (), sources=of)
        for suite, records in sorted(by_suite.items())
        for of in [tuple(sources[suite])]
    }


def _store(path: Path, folders: tuple[Path, ...], records: Sequence[Record]) -> Store:
    """Return the store of a suite's runs, with their rounded predictions if there are any."""
    if not any((folder / rounded.NAME).is_file() for folder in folders):
        return Store(path)
    seals = {r.key: sha256 for r in records if (sha256 := r.outcome.predictions_sha256)}
    return RoundedStore(path, folders, seals)


def results_of(path: Path) -> dict[str, Results]:
    """Return suite → its runs, from a folder of results or from a bundle.

    Raises ValueError if there is none, and `CorruptRecord` if a file of a bundle is altered.
    """
    if holds_bundle(path):
        return read_bundle(path)
    return {real(folder).name: read(folder) for folder in suite_folders(path)}


def records_of(folder: Path) -> tuple[Record, ...]:
    """Return the records of one folder of a bundle. Raises `CorruptRecord`."""
    with uncollected():
        return bundles.read(folder)


def repeated_runs(path: Path) -> dict[str, Rerun]:
    """Return key → re-run outcome, for the runs of a bundle; empty for a folder of results.

    Raises `CorruptRecord`.
    """
    return {r.key: r for folder in bundles.folders(path) for r in repetitions.read(folder)}


@contextmanager
def uncollected() -> Iterator[None]:
    """Disable the garbage collector: with millions of live record objects, it would scan all of
    them repeatedly without freeing any."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
