"""Where fits keep their checkpoints: a folder of each in the store, until its runs are kept."""

import hashlib
import inspect
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from bnnbench.datasets.base import Split
from bnnbench.methods.checkpoints import checkpoint
from bnnbench.methods.checkpoints.checkpoint import CheckpointFolder
from bnnbench.methods.checkpoints.files import Damaged, Ledger, remove
from bnnbench.suites.engine.declare.description import digest
from bnnbench.suites.engine.declare.grid import Run
from bnnbench.suites.engine.run.fingerprint import fingerprint

FOLDER = "checkpoints"

SECONDS = "BNNBENCH_CHECKPOINT_SECONDS"
"""Environment variable: the least time between two checkpoints of a fit, if not a minute."""


@contextmanager
def place(
    folder: Path | None,
    runs: Sequence[Run],
    number: int,
    train: Sequence[Split],
    device: torch.device,
    peak_bytes: Callable[[], float],
) -> Iterator[CheckpointFolder]:
    """Give fit `number` of runs that are fitted together a place for checkpoints in the block.

    Without a folder, or where the store is not on this machine, there are no checkpoints.
    """
    if folder is None or not folder.parent.is_dir():
        yield CheckpointFolder(Path())
        return
    keys = [run.key for run in runs]
    of = {
        "runs": keys,
        "data": [fingerprint(split) for split in train],
        "method": _source_digest(type(runs[0].method)),
    }
    own = folder / digest([keys, number, device.type])
    with checkpoint.kept_in(own, of, _seconds(), peak_bytes) as here:
        yield here


def account(place: CheckpointFolder, so_far: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a record says of interruptions, of earlier fits of a run and of this one.

    `resumed` is how often a fit went on from a checkpoint.
    """
    found = dict(so_far)
    if place.resumed:
        found["resumed"] = found.get("resumed", 0) + place.resumed
    if place.notes:
        found["checkpoints_not_used"] = [*found.get("checkpoints_not_used", ()), *place.notes]
    return found


def discard(folder: Path, keys: Iterable[str]) -> None:
    """Remove the checkpoints of fits of these runs, and ledgers that cannot be read."""
    done = set(keys)
    for own in folder.glob("*/"):
        try:
            ledger = Ledger.read(own)
        except Damaged:
            remove(own)
            continue
        if ledger and done & set(ledger.identity.get("runs", ())):
            remove(own)


def _source_digest(method: type) -> str:
    """Return a digest of the file of a method, which may lie outside of this project."""
    try:
        return hashlib.sha256(Path(inspect.getfile(method)).read_bytes()).hexdigest()
    except (OSError, TypeError):
        return ""


def _seconds() -> float:
    return float(os.environ.get(SECONDS, checkpoint.SECONDS))
