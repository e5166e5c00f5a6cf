"""Inspection of a store, file by file: problems and their remedies."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from bnnbench.datasets.reading import npz
from bnnbench.engine.records.record import Record, newest
from bnnbench.engine.records.record_json import FutureTimestamp, LaterSchema
from bnnbench.engine.run.checkpoints import FOLDER as CHECKPOINTS
from bnnbench.engine.run.packing import NotImported
from bnnbench.engine.store.folders import KEY, stores_in
from bnnbench.engine.store.leases import DRIVER_NAME, JOBS, LEASES, Leases
from bnnbench.engine.store.rescoring.false_scores import false_scores
from bnnbench.engine.store.store import PREDICTIONS, RECORD, TEMPORARY_NAME, CorruptRecord, Store
from bnnbench.methods.checkpoints.files import Damaged as LedgerDamaged
from bnnbench.methods.checkpoints.files import Ledger, is_own

Kind = Literal[
    "damaged",
    "later",
    "future",
    "false",
    "unscored",
    "interrupted",
    "orphan",
    "superseded",
    "foreign",
]
"""`damaged`: truncated or altered, a copy under another name, or a part is missing. `later`: from a
later version of this program. `future`: with a date in the future. `false`: with scores that
do not follow from its predictions. `unscored`: predictions of a third-party class, which are not
scored, since its code would run. `interrupted`: a complete run that a dead process was moving.
`orphan`: a useless file of a dead process. `superseded`: complete, but other settings
were run under the same names later. `foreign`: not made by this program."""

REMEDIES: dict[Kind, str] = {
    "damaged": "gc drops the run, and the same command runs it again",
    "later": "update this program; gc leaves it",
    "future": f"{FutureTimestamp.remedy}; gc leaves it",
    "false": "remove the run to run it again; gc leaves it",
    "unscored": "--allow MODULE scores it in a process that imports its class",
    "interrupted": "gc restores it",
    "orphan": "gc removes it",
    "superseded": "gc --superseded removes it",
    "foreign": "move it elsewhere if it does not belong here; gc leaves it",
}


Rescore = Callable[[Store, Record], list[str]]
"""A function that returns a phrase for each false score of a run, or raises `NotImported`."""

FEW = 3
"""Maximum number of a run's scores named in a finding."""

OUTPUT_NAME = re.compile(r"[a-z_0-9]+\.(html|md|tex|csv|csv\.gz|md\.gz|tex\.gz)")
"""A table or page next to the runs."""


@dataclass(frozen=True)
class Finding:
    """A file or folder that is not a valid part of a store."""

    path: Path
    kind: Kind
    reason: str
    linked: bool = False
    """True behind a symbolic link in the store, where gc removes nothing."""

    @property
    def remedy(self) -> str:
        """An instruction that fixes it."""
        if self.linked:
            return "remove it by hand; it is behind a symbolic link, which gc does not follow"
        if self.kind == "damaged" and self.path.parent.name == "curves":
            return "gc removes it, and the next command rewrites it"
        return REMEDIES[self.kind]


@dataclass(frozen=True)
class Inspection:
    """The result of reading every file of a store."""

    findings: tuple[Finding, ...]
    valid: int
    """Number of valid runs, including superseded ones, whose scores were found right if computed.
    """


def inspect(store: Store, rescore: bool = False, score: Rescore = false_scores) -> Inspection:
    """Return the problems in a store after reading every file, changing nothing.

    If `rescore`, every score is compared by `score` with the score of the stored predictions.
    """
    findings: list[Finding] = []
    records: list[Record] = []
    if store.runs.is_dir():
        for path in sorted(store.runs.iterdir()):
            findings_of_run, record = inspect_run(store, path)
            findings += findings_of_run
            if record and not any(f.kind == "damaged" for f in findings_of_run):
                records.append(record)
    rescored = list(_rescored(store, records, score)) if rescore else []
    findings += rescored
    current = {record.key for record in newest(records)}
    findings += [
        Finding(store.runs / record.key, "superseded", _names(record))
        for record in records
        if record.key not in current
    ]
    findings += [*inspect_curves(store), *_temporary(store.folder)]
    findings += [*_checkpoints(store, records), *_dead(store)]
    findings = [replace(f, linked=_is_linked(store.folder, f.path)) for f in findings]
    return Inspection(tuple(findings), len(records) - len(rescored))


def _rescored(store: Store, records: Sequence[Record], score: Rescore) -> Iterator[Finding]:
    """Yield the runs whose scores are false, or cannot be computed from their predictions."""
    for record in records:
        try:
            phrases = score(store, record)
        except NotImported as reason:
            yield Finding(store.runs / record.key, "unscored", str(reason))
            continue
        if phrases:
            more = f" and {len(phrases) - FEW} more" * (len(phrases) > FEW)
            reason = "; ".join(phrases[:FEW]) + more
            yield Finding(store.runs / record.key, "false", reason)


def _is_linked(folder: Path, path: Path) -> bool:
    """Return whether a path in a folder is behind a symbolic link, or is one.

    A lease may be one: this program makes it so if there are no hard links.
    """
    within = [path, *path.parents][: len(path.parts) - len(folder.parts) + 1]
    return any(p.is_symlink() for p in within if p.suffix != ".claim")


def inspect_run(store: Store, path: Path) -> tuple[list[Finding], Record | None]:
    """Return the problems of one entry in the folder of runs, and its record."""
    if not path.is_dir():
        is_there = path.exists() or path.is_symlink()  # a living driver may have renamed a folder
        return [Finding(path, "foreign", "a file among the folders of runs")] * is_there, None
    if (name := TEMPORARY_NAME.fullmatch(path.name)) and KEY.match(name[1]):
        return [_temporary_run(store, path, name[1])], None
    try:
        names = {entry.name for entry in path.iterdir()}
    except FileNotFoundError:  # superseded or removed since the folder was listed
        return [], None
    if not names & {RECORD, PREDICTIONS}:
        if KEY.fullmatch(path.name) and all(map(belongs_to_run, path.iterdir())):
            return [Finding(path, "orphan", "an empty folder of a run")], None
        return [Finding(path, "foreign", "a folder without a run")], None
    findings = [
        Finding(path / name, "orphan", "a file that was being written")
        if belongs_to_run(path / name)
        else Finding(path / name, "foreign", "not a file of a run")
        for name in sorted(names)
        if name not in (RECORD, PREDICTIONS) or not belongs_to_run(path / name)
    ]
    if any(f.path.name in (RECORD, PREDICTIONS) for f in findings):
        return findings, None
    if RECORD not in names:
        return [*findings, Finding(path, "orphan", "predictions without a record")], None
    try:
        record = store.read(path.name)
    except CorruptRecord as error:
        kind = _KINDS.get(type(error.__cause__), "damaged")
        return [*findings, Finding(path / RECORD, kind, error.reason)], None
    if record is None:
        return findings, None
    if reason := _bad_predictions(store, record, names):
        return [*findings, Finding(path, "damaged", reason)], record
    return findings, record


_KINDS: dict[type, Kind] = {LaterSchema: "later", FutureTimestamp: "future"}


def belongs_to_run(path: Path) -> bool:
    """Return whether a file in a run's folder belongs to the run; a FIFO or a folder never does."""
    name = TEMPORARY_NAME.fullmatch(path.name)
    named = (name[1] if name else path.name) in (RECORD, PREDICTIONS)
    return named and (path.is_file() or not path.exists())


def _bad_predictions(store: Store, record: Record, names: set[str]) -> str | None:
    if record.outcome.predictions_sha256 is None:
        exists = PREDICTIONS in names
        return f"{PREDICTIONS} exists, but its record says that there is none" if exists else None
    if PREDICTIONS not in names:
        return f"{PREDICTIONS} is missing"
    try:
        store.packed(record.key)
    except CorruptRecord as error:
        return f"{PREDICTIONS}: {error.reason}"
    return None


def _temporary_run(store: Store, path: Path, key: str) -> Finding:
    if (path / RECORD).is_file() and not (store.runs / key / RECORD).exists():
        temporary = Store(path.parent.parent)
        try:
            record = temporary.read(path.name)
            if record and record.outcome.predictions_sha256 is not None:
                temporary.packed(path.name)
            if record and record.key == key:
                return Finding(path, "interrupted", f"run {key}, complete, but not in its place")
        except CorruptRecord:
            pass
    return Finding(path, "orphan", "a run that was being written or removed")


def _names(record: Record) -> str:
    return (
        f"{record.method} on {record.dataset}, fold {record.fold}, seed {record.seed}: "
        "other settings were chosen later"
    )


def inspect_curves(store: Store) -> Iterator[Finding]:
    """Return the problems in files of curves."""
    folder = store.folder / "curves"
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if TEMPORARY_NAME.fullmatch(path.name) and path.is_file():
            yield Finding(path, "orphan", "a file that was being written")
        elif path.suffix != ".npz" or not KEY.fullmatch(path.stem) or not path.is_file():
            yield Finding(path, "foreign", "not a file of curves")
        else:
            try:
                npz.arrays_of(path)
            except Exception as error:
                yield Finding(path, "damaged", repr(error))


def _temporary(folder: Path) -> Iterator[Finding]:
    """Return files of tables and reports whose writing was interrupted."""
    for path in sorted(folder.iterdir()):
        name = TEMPORARY_NAME.fullmatch(path.name)
        if name and OUTPUT_NAME.fullmatch(name[1]) and path.is_file():
            yield Finding(path, "orphan", "a file that was being written")


def _checkpoints(store: Store, records: Sequence[Record]) -> Iterator[Finding]:
    finished = {record.key for record in records if record.outcome.status != "failed"}
    folder = store.folder / CHECKPOINTS
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if not (KEY.fullmatch(path.name) and path.is_dir() and all(map(is_own, path.iterdir()))):
            yield Finding(path, "foreign", "not a folder of only checkpoints")
            continue
        try:
            ledger = Ledger.read(path)
        except LedgerDamaged as error:
            yield Finding(path, "orphan", f"checkpoints that cannot be used: {error}")
            continue
        if ledger is None:
            yield Finding(path, "orphan", "checkpoints without a ledger")
        elif finished >= set(ledger.identity.get("runs", ())):
            yield Finding(path, "orphan", "checkpoints of runs that are finished")


def _dead(store: Store) -> Iterator[Finding]:
    """Return the files of drivers that were killed."""
    leases = Leases(store.folder / LEASES)
    unknown = leases.unknown_files()
    for path in unknown:
        yield Finding(path, "foreign", "not a file of a driver")
    for path in leases.dead():
        if path not in unknown:
            yield Finding(path, "orphan", "a file of a driver that is dead")
    drivers = {path.stem for path in (store.folder / LEASES).glob("*.driver")}
    for path in sorted((store.folder / JOBS).glob("*")):
        if not DRIVER_NAME.fullmatch(path.name):
            yield Finding(path, "foreign", "not the jobs of a driver")
        elif path.name not in drivers:
            yield Finding(path, "orphan", "jobs of a driver that is dead")


def stores(folder: Path) -> list[Store]:
    """Return the stores in a folder of results, which may itself be one.

    Raises ValueError if there is none.
    """
    folders = stores_in(folder)
    if not folders:
        raise ValueError(f"{folder} has no results: there is no {folder}/<suite>/runs")
    return [Store(store_folder) for store_folder in folders]
