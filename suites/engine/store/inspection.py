"""What is wrong in a store, file by file, and what cures it."""

import io
import re
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from bnnbench.methods.checkpoints.files import Damaged as LedgerDamaged
from bnnbench.methods.checkpoints.files import Ledger
from bnnbench.suites.engine.declare.description import digest
from bnnbench.suites.engine.run.packing import NotImported, unpack
from bnnbench.suites.engine.store.checkpoints import FOLDER as CHECKPOINTS
from bnnbench.suites.engine.store.claims import Claims
from bnnbench.suites.engine.store.record import UNKNOWN, LaterSchema, Record, newest
from bnnbench.suites.engine.store.store import PREDICTIONS, RECORD, Damaged, Store

Kind = Literal["damaged", "later", "interrupted", "orphan", "superseded", "foreign"]
"""`damaged`: truncated or altered, a copy under another name, or a part is missing. `later`: of a
later version of this program. `interrupted`: a whole run that a dead process was moving.
`orphan`: what a dead process left, of no use to anyone. `superseded`: whole, but other settings
were run under the same names later. `foreign`: not made by this program."""

CURES: dict[Kind, str] = {
    "damaged": "gc drops the run, and the same command runs it again",
    "later": "update this program; nothing touches it",
    "interrupted": "gc puts it in its place",
    "orphan": "gc removes it",
    "superseded": "gc --superseded removes it",
    "foreign": "move it away if it is not yours to keep here; nothing touches it",
}

CLAIMS, JOBS = ".claims", ".jobs"

TEMPORARY_NAME = re.compile(r"\.(.+)\.[a-z0-9_]{8}", re.DOTALL)
_KEY = re.compile(r"[0-9a-f]{20}")


@dataclass(frozen=True)
class Finding:
    """A file or folder that is not a sound part of a store."""

    path: Path
    kind: Kind
    reason: str

    @property
    def cure(self) -> str:
        """What makes it right."""
        if self.kind == "damaged" and self.path.parent.name == "curves":
            return "gc removes it, and the next command makes it again"
        return CURES[self.kind]


@dataclass(frozen=True)
class Inspection:
    """What a look at every file of a store has found."""

    findings: tuple[Finding, ...]
    sound: int
    """Runs that are whole, superseded ones included."""
    unsealed: int
    """Of these, how many are of schema 1: without checksums, an altered number goes unseen."""


def inspect(store: Store) -> Inspection:
    """Return what is found when every file of a store is read; nothing is changed."""
    findings: list[Finding] = []
    records: list[Record] = []
    if store.runs.is_dir():
        for path in sorted(store.runs.iterdir()):
            found, record = inspect_run(store, path)
            findings += found
            if record and not any(f.kind in ("damaged", "later") for f in found):
                records.append(record)
    current = {record.key for record in newest(records)}
    findings += [
        Finding(store.runs / record.key, "superseded", _names(record))
        for record in records
        if record.key not in current
    ]
    findings += [*inspect_curves(store), *_temporary(store.folder)]
    findings += [*_checkpoints(store, records), *_dead(store)]
    return Inspection(tuple(findings), len(records), sum(r.schema == 1 for r in records))


def inspect_run(store: Store, path: Path) -> tuple[list[Finding], Record | None]:
    """Return what is wrong with one entry of the folder of runs, and its record."""
    if name := TEMPORARY_NAME.fullmatch(path.name):
        return [_temporary_run(store, path, name[1])], None
    if not path.is_dir():
        return [Finding(path, "foreign", "a file among the folders of runs")], None
    names = {entry.name for entry in path.iterdir()}
    if not names & {RECORD, PREDICTIONS}:
        if _KEY.fullmatch(path.name) and all(map(TEMPORARY_NAME.fullmatch, names)):
            return [Finding(path, "orphan", "the folder of a run, without one")], None
        return [Finding(path, "foreign", "a folder without a run")], None
    findings = [
        Finding(path / name, "orphan", "a file that was being written")
        if TEMPORARY_NAME.fullmatch(name)
        else Finding(path / name, "foreign", "no file of a run")
        for name in sorted(names - {RECORD, PREDICTIONS})
    ]
    if RECORD not in names:
        return [*findings, Finding(path, "orphan", "predictions without a record")], None
    try:
        record = store.read(path.name)
    except Damaged as error:
        later = isinstance(error.__cause__, LaterSchema)
        found = Finding(path / RECORD, "later" if later else "damaged", str(error.__cause__))
        return [*findings, found], None
    assert record is not None
    if reason := _not_its_own(record, path.name) or _bad_predictions(store, record, names):
        return [*findings, Finding(path, "damaged", reason)], record
    return findings, record


def _not_its_own(record: Record, key: str) -> str | None:
    if record.key != key:
        return f"the record belongs to run {record.key}: a copied folder"
    if digest(record.run) != key:
        return "the settings in the record are not those that the run is named by"
    return None


def _bad_predictions(store: Store, record: Record, names: set[str]) -> str | None:
    if record.predictions_sha256 is None:
        kept = PREDICTIONS in names
        return f"{PREDICTIONS} is there, and its record knows of none" if kept else None
    if PREDICTIONS not in names:
        return f"{PREDICTIONS} is missing"
    try:
        content = store.packed(record.key)
    except Damaged as error:
        return f"{PREDICTIONS}: {error.reason}"
    return _unreadable(content) if record.predictions_sha256 == UNKNOWN else None


def _unreadable(content: bytes) -> str | None:
    """Return what is wrong with predictions that nothing but their own checks speaks for."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as members:
            if bad := members.testzip():
                return f"{PREDICTIONS}: {bad} in it does not have its checksum"
        unpack(content)
    except NotImported:
        return None
    except Exception as error:  # whatever NumPy says of bytes that it did not write
        return f"{PREDICTIONS}: {error!r}"
    return None


def _temporary_run(store: Store, path: Path, key: str) -> Finding:
    if path.is_dir() and (path / RECORD).exists() and not (store.runs / key / RECORD).exists():
        there = Store(path.parent.parent)
        try:
            record = there.read(path.name)
            if record and record.predictions_sha256 is not None:
                there.packed(path.name)
            if record and record.key == key:
                return Finding(path, "interrupted", f"run {key}, whole, beside its place")
        except Damaged:
            pass
    return Finding(path, "orphan", "a run that was being written or removed")


def _names(record: Record) -> str:
    return (
        f"{record.method} on {record.dataset}, fold {record.fold}, seed {record.seed}: "
        "other settings were chosen later"
    )


def inspect_curves(store: Store) -> Iterator[Finding]:
    """Return what is wrong with the points of curves."""
    folder = store.folder / "curves"
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if TEMPORARY_NAME.fullmatch(path.name):
            yield Finding(path, "orphan", "a file that was being written")
        elif path.suffix != ".npz" or not _KEY.fullmatch(path.stem):
            yield Finding(path, "foreign", "no file of curves")
        else:
            try:
                with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as arrays:
                    dict(arrays)
            except Exception as error:
                yield Finding(path, "damaged", repr(error))


def _temporary(folder: Path) -> Iterator[Finding]:
    """Return files of tables and reports that were being written."""
    for path in sorted(folder.iterdir()):
        if TEMPORARY_NAME.fullmatch(path.name) and path.is_file():
            yield Finding(path, "orphan", "a file that was being written")


def _checkpoints(store: Store, records: Sequence[Record]) -> Iterator[Finding]:
    done = {record.key for record in records if record.status != "failed"}
    folder = store.folder / CHECKPOINTS
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        try:
            ledger = Ledger.read(path)
        except LedgerDamaged as error:
            yield Finding(path, "orphan", f"checkpoints that cannot be used: {error}")
            continue
        if ledger is None:
            yield Finding(path, "orphan", "checkpoints without a ledger")
        elif done >= set(ledger.identity.get("runs", ())):
            yield Finding(path, "orphan", "checkpoints of runs that are finished")


def _dead(store: Store) -> Iterator[Finding]:
    """Return what drivers left that were killed."""
    for path in Claims(store.folder / CLAIMS).dead():
        yield Finding(path, "orphan", "of a driver that lives no more")
    drivers = {path.stem for path in (store.folder / CLAIMS).glob("*.driver")}
    for path in sorted((store.folder / JOBS).glob("*")):
        if path.name not in drivers:
            yield Finding(path, "orphan", "jobs of a driver that lives no more")


def stores(folder: Path) -> list[Store]:
    """Return the stores in a folder of results, which may be one itself.

    Raises ValueError where there is none.
    """
    if (folder / "runs").is_dir():
        return [Store(folder)]
    found = sorted(runs.parent for runs in folder.glob("*/runs") if runs.is_dir())
    if not found:
        raise ValueError(f"{folder} holds no results: there is no {folder}/<suite>/runs")
    return [Store(one) for one in found]
