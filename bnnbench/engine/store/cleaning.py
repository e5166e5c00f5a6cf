"""Clean a store: remove files that no run needs, and repair others."""

import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from bnnbench.engine.run.checkpoints import FOLDER as CHECKPOINTS
from bnnbench.engine.store.durable import put, sync
from bnnbench.engine.store.inspection import Finding, belongs_to_run, inspect, inspect_run
from bnnbench.engine.store.leases import LEASES, Leases
from bnnbench.engine.store.store import PREDICTIONS, RECORD, TEMPORARY_NAME, Store
from bnnbench.methods.checkpoints.files import remove

DEAD_SECONDS = 3600
"""Time after which a silent driver on another machine counts as dead."""


class Busy(RuntimeError):
    """A command is writing to the store; the message names it."""


@dataclass(frozen=True)
class CleanupAction:
    """The treatment of a finding, done or planned."""

    finding: Finding
    outcome: str | None
    """The outcome, such as "removed"; None if nothing may be done, and the finding's remedy
    applies.
    """


def collect(store: Store, superseded: bool = False, dry_run: bool = False) -> list[CleanupAction]:
    """Remove files that no run needs, restore interrupted runs, and drop corrupt ones.

    Superseded runs are removed only on request. Foreign files, records of later versions and
    anything behind a symbolic link are never removed. A missing checksum is not recomputed. Raises
    `Busy` while a command writes.
    """
    if drivers := living(store):
        raise Busy(f"{store.folder} is in use by {', '.join(drivers)}; wait until it ends")
    actions = []
    for finding in inspect(store).findings:
        outcome = _outcome(finding, superseded)
        if outcome and not dry_run and not _do(store, finding):
            outcome = None  # another process has already done it
        actions.append(CleanupAction(finding, outcome))
    return actions


def living(store: Store) -> list[str]:
    """Return "process N on HOST" for each driver that writes to a store."""
    return Leases(store.folder / LEASES).others(DEAD_SECONDS)


def _outcome(finding: Finding, superseded: bool) -> str | None:
    if finding.linked:
        return None
    match finding.kind:
        case "damaged":
            return "dropped"
        case "interrupted":
            return "restored"
        case "orphan":
            return "removed"
        case "superseded":
            return "removed" if superseded else None
    return None


def _do(store: Store, finding: Finding) -> bool:
    """Treat a finding, and return whether it still applied."""
    path = finding.path
    if finding.kind == "interrupted":
        name = TEMPORARY_NAME.fullmatch(path.name)
        assert name is not None
        if (store.runs / name[1] / RECORD).exists():
            return False
        put(path, store.runs / name[1])
    elif path.parent == store.runs:
        if finding.kind != "superseded" and finding not in inspect_run(store, path)[0]:
            return False
        _remove_run(path)
    elif path.name == RECORD:
        if finding not in inspect_run(store, path.parent)[0]:
            return False
        _remove_run(path.parent)
    elif path.parent == store.folder / CHECKPOINTS:
        remove(path)
    elif path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
    sync([store.runs if path.is_relative_to(store.runs) else store.folder])
    return True


def _remove_run(path: Path) -> None:
    """Hide a run atomically, then remove it; foreign files next to it stay."""
    if not all(map(belongs_to_run, path.iterdir())):
        for name in (RECORD, PREDICTIONS):  # without a record it no longer is a run
            (path / name).unlink(missing_ok=True)
    else:
        aside = Path(tempfile.mkdtemp(prefix=f".{path.name.strip('.')}.", dir=path.parent))
        path.rename(aside)
        shutil.rmtree(aside)
