"""Merge the stores of several machines into one."""

import contextlib
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bnnbench.engine.records.record import Record, preference, time_chosen
from bnnbench.engine.store.durable import sync
from bnnbench.engine.store.folders import real
from bnnbench.engine.store.inspection import inspect_curves, inspect_run, stores
from bnnbench.engine.store.store import PREDICTIONS, RECORD, Store
from bnnbench.engine.store.tables import write_tables

BATCH = 64


@dataclass(frozen=True)
class Merge:
    """The result of a merge."""

    runs: int
    equal: int
    """Runs in several stores with the same outcome."""
    lines: tuple[str, ...]
    """A sentence for each run that was not taken from every store that had it."""
    left_out: int
    """Number of runs without an intact copy in any store."""


def merge(folders: Sequence[Path], out: Path) -> Merge:
    """Merge several folders of results into `out`, each run once; the folders stay unchanged.

    If copies of a run differ, the latest chosen copy that did not fail is taken, and a line says
    so. `out` appears once it is complete. Raises ValueError if a folder has no results or `out` is
    not empty.
    """
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise ValueError(f"{out} exists already; merge into a new folder")
    suites: dict[str, list[Store]] = {}
    for folder in folders:
        for store in stores(folder):
            suites.setdefault(real(store.folder).name, []).append(store)
    out.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=f".{out.name}.", dir=out.parent))
    try:
        merges = [
            _merge_suite(same_suite, Store(temporary / name))
            for name, same_suite in sorted(suites.items())
        ]
        temporary.chmod(0o755)
        with contextlib.suppress(FileNotFoundError):
            out.rmdir()
        temporary.rename(out)
        sync([out.parent])
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return Merge(
        sum(m.runs for m in merges),
        sum(m.equal for m in merges),
        tuple(line for m in merges for line in m.lines),
        sum(m.left_out for m in merges),
    )


def _merge_suite(same_suite: Sequence[Store], out: Store) -> Merge:
    out.runs.mkdir(parents=True)
    lines: list[str] = []
    equal = left_out = 0
    best_copies: list[tuple[Store, str]] = []
    for key in sorted(set().union(*(store.run_keys() for store in same_suite))):
        copies: dict[Path, tuple[Store, Record]] = {}
        damaged = False
        for store in same_suite:
            if (store.runs / key).is_dir():
                findings, record = inspect_run(store, store.runs / key)
                bad = any(f.kind != "foreign" for f in findings)
                damaged |= bad
                if record and not bad:
                    copies[store.folder] = store, record
                lines += [f"{f.path}: {f.kind}, not taken: {f.reason}" for f in findings]
        if not copies:
            left_out += damaged
            continue
        best = max(copies.values(), key=lambda c: preference(c[1]))
        duplicates = [record for _, record in copies.values() if record is not best[1]]
        if all(_outcome(record) == _outcome(best[1]) for record in duplicates):
            equal += bool(duplicates)
        else:
            lines.append(_difference(key, best, copies))
        best_copies.append((best[0], key))
    for start in range(0, len(best_copies), BATCH):
        _copy(best_copies[start : start + BATCH], out)
    _copy_curves(same_suite, out)
    write_tables(out)
    return Merge(len(best_copies), equal, tuple(lines), left_out)


def _outcome(record: Record) -> str:
    """Return text that is equal for two copies of a run with the same outcome."""
    parts = (
        record.outcome.status,
        record.outcome.error,
        record.outcome.predictions_sha256,
        record.outcome.acquired,
    )
    return repr([*parts, sorted((c, sorted(s.items())) for c, s in record.outcome.scores.items())])


def _difference(
    key: str, best: tuple[Store, Record], copies: Mapping[Path, tuple[Store, Record]]
) -> str:
    versions = "; ".join(
        f"{folder} has one ({record.outcome.status}) of {time_chosen(record) or 'an unknown time'}"
        for folder, (_, record) in copies.items()
    )
    record = best[1]
    return (
        f"{record.method} on {record.dataset}, fold {record.fold}, seed {record.seed} ({key}) "
        f"differs: {versions}; taken from {best[0].folder}"
    )


def _copy(copies: Sequence[tuple[Store, str]], out: Store) -> None:
    """Copy runs and wait until they are on the disk."""
    paths: list[Path] = []
    for store, key in copies:
        folder = out.runs / key
        folder.mkdir()
        for name in (RECORD, PREDICTIONS):
            with contextlib.suppress(FileNotFoundError):
                shutil.copyfile(store.runs / key / name, folder / name)
                paths.append(folder / name)
        paths.append(folder)
    sync([*paths, out.runs])


def _copy_curves(same_suite: Sequence[Store], out: Store) -> None:
    """Copy one intact file for each name; names depend on the content."""
    copied: list[Path] = []
    for store in same_suite:
        bad = {finding.path for finding in inspect_curves(store)}
        for path in sorted((store.folder / "curves").glob("*.npz")):
            copy = out.folder / "curves" / path.name
            if path not in bad and copy not in copied:
                copy.parent.mkdir(exist_ok=True)
                shutil.copyfile(path, copy)
                copied.append(copy)
    if copied:
        sync([*copied, out.folder / "curves"])
