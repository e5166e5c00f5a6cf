"""Stores of several machines made into one."""

import contextlib
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bnnbench.suites.engine.store.durable import sync
from bnnbench.suites.engine.store.inspection import inspect_curves, inspect_run, stores
from bnnbench.suites.engine.store.record import Record, chosen
from bnnbench.suites.engine.store.store import PREDICTIONS, RECORD, Store
from bnnbench.suites.engine.store.tables import write_tables

BATCH = 64


@dataclass(frozen=True)
class Merge:
    """What came of a merge."""

    runs: int
    equal: int
    """Runs that several stores held, with the same outcome."""
    lines: tuple[str, ...]
    """A sentence for each run that was not taken from every store that had it."""
    left_out: int
    """Runs that no store holds whole."""


def merge(folders: Sequence[Path], out: Path) -> Merge:
    """Make `out` of several folders of results, each run once; the folders stay as they are.

    Of a run that differs between stores the one that ended well is taken, of such the one
    chosen last, and a line says so. `out` appears when everything is in it. Raises ValueError
    where a folder holds no results or `out` holds something.
    """
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise ValueError(f"{out} is there already; merge into a new folder")
    suites: dict[str, list[Store]] = {}
    for folder in folders:
        for store in stores(folder):
            suites.setdefault(store.folder.resolve().name, []).append(store)
    out.parent.mkdir(parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(prefix=f".{out.name}.", dir=out.parent))
    try:
        merges = [_merge_suite(held, Store(made / name)) for name, held in sorted(suites.items())]
        made.chmod(0o755)
        with contextlib.suppress(FileNotFoundError):
            out.rmdir()
        made.rename(out)
        sync([out.parent])
    finally:
        shutil.rmtree(made, ignore_errors=True)
    return Merge(
        sum(m.runs for m in merges),
        sum(m.equal for m in merges),
        tuple(line for m in merges for line in m.lines),
        sum(m.left_out for m in merges),
    )


def _merge_suite(held: Sequence[Store], out: Store) -> Merge:
    out.runs.mkdir(parents=True)
    lines: list[str] = []
    equal = left_out = 0
    taken: list[tuple[Store, str]] = []
    for key in sorted(set().union(*(store.run_keys() for store in held))):
        copies: dict[Path, tuple[Store, Record]] = {}
        damaged = False
        for store in held:
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
        best = max(copies.values(), key=lambda c: (c[1].status != "failed", chosen(c[1])))
        others = [record for _, record in copies.values() if record is not best[1]]
        if all(_outcome(record) == _outcome(best[1]) for record in others):
            equal += bool(others)
        else:
            lines.append(_difference(key, best, copies))
        taken.append((best[0], key))
    for start in range(0, len(taken), BATCH):
        _copy(taken[start : start + BATCH], out)
    _copy_curves(held, out)
    write_tables(out)
    return Merge(len(taken), equal, tuple(lines), left_out)


def _outcome(record: Record) -> str:
    """Return what two copies of one run have in common unless they differ."""
    parts = (record.status, record.error, record.predictions_sha256, record.acquired)
    return repr([*parts, sorted((c, sorted(s.items())) for c, s in record.scores.items())])


def _difference(
    key: str, best: tuple[Store, Record], copies: Mapping[Path, tuple[Store, Record]]
) -> str:
    what = "; ".join(
        f"{folder} has one that {record.status} at {chosen(record) or 'an unknown time'}"
        for folder, (_, record) in copies.items()
    )
    record = best[1]
    return (
        f"{record.method} on {record.dataset}, fold {record.fold}, seed {record.seed} ({key}) "
        f"differs: {what}; taken from {best[0].folder}"
    )


def _copy(some: Sequence[tuple[Store, str]], out: Store) -> None:
    """Copy runs and wait for the disk."""
    written: list[Path] = []
    for store, key in some:
        place = out.runs / key
        place.mkdir()
        for name in (RECORD, PREDICTIONS):
            with contextlib.suppress(FileNotFoundError):
                shutil.copyfile(store.runs / key / name, place / name)
                written.append(place / name)
        written.append(place)
    sync([*written, out.runs])


def _copy_curves(held: Sequence[Store], out: Store) -> None:
    """Copy one file of each name that is whole; they are named by what they hold."""
    copied: list[Path] = []
    for store in held:
        bad = {finding.path for finding in inspect_curves(store)}
        for path in sorted((store.folder / "curves").glob("*.npz")):
            copy = out.folder / "curves" / path.name
            if path not in bad and copy not in copied:
                copy.parent.mkdir(exist_ok=True)
                shutil.copyfile(path, copy)
                copied.append(copy)
    if copied:
        sync([*copied, out.folder / "curves"])
