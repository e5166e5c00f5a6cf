"""What no run needs is removed from a store, and what can be repaired is."""

import shutil
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from bnnbench.suites.engine.store.claims import Claims
from bnnbench.suites.engine.store.durable import put, sync
from bnnbench.suites.engine.store.inspection import (
    CLAIMS,
    TEMPORARY_NAME,
    Finding,
    inspect,
    inspect_run,
)
from bnnbench.suites.engine.store.store import PREDICTIONS, RECORD, Store

DEAD_SECONDS = 3600
"""A driver on another machine that has not renewed its file for so long is dead."""


class Busy(RuntimeError):
    """A command is writing to the store; says which."""


@dataclass(frozen=True)
class CleanupAction:
    """What was done about a finding, or would be."""

    finding: Finding
    deed: str | None
    """None where nothing may be done; the finding says what else cures it."""


def collect(store: Store, superseded: bool = False, dry_run: bool = False) -> list[CleanupAction]:
    """Remove what no run needs, put interrupted runs in place, and drop damaged ones.

    Superseded runs go only if that is asked for; foreign files and records of later versions
    never. A checksum that is missing is not made up. Raises `Busy` while a command writes.
    """
    if drivers := living(store):
        raise Busy(f"{store.folder} is being written to by {', '.join(drivers)}; wait for the end")
    deeds = []
    for finding in inspect(store).findings:
        deed = _deed(finding, superseded)
        if deed and not dry_run and not _do(store, finding):
            deed = None  # another process was faster
        deeds.append(CleanupAction(finding, deed))
    return deeds


def living(store: Store) -> list[str]:
    """Return the drivers that write to a store, in words."""
    folder = store.folder / CLAIMS
    recent = [p for p in folder.glob("*.driver") if time.time() - _changed(p) < DEAD_SECONDS]
    return Claims(folder).others() if recent else []


def _changed(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except FileNotFoundError:
        return 0.0


def _deed(finding: Finding, superseded: bool) -> str | None:
    match finding.kind:
        case "damaged":
            return "dropped"
        case "interrupted":
            return "put in its place"
        case "orphan":
            return "removed"
        case "superseded":
            return "removed" if superseded else None
    return None


def _do(store: Store, finding: Finding) -> bool:
    """Act on a finding, and return whether it still held."""
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
    elif path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
    sync([store.runs if path.is_relative_to(store.runs) else store.folder])
    return True


def _remove_run(path: Path) -> None:
    """Take a run out of sight in one step, then remove it; foreign files beside it stay."""
    if not path.is_dir() or path.is_symlink():
        path.unlink(missing_ok=True)
    elif any(not _ours(entry.name) for entry in path.iterdir()):
        for name in (RECORD, PREDICTIONS):  # without a record it is no run any more
            (path / name).unlink(missing_ok=True)
    else:
        aside = Path(tempfile.mkdtemp(prefix=f".{path.name.strip('.')}.", dir=path.parent))
        path.rename(aside)
        shutil.rmtree(aside)


def _ours(name: str) -> bool:
    return name in (RECORD, PREDICTIONS) or TEMPORARY_NAME.fullmatch(name) is not None
