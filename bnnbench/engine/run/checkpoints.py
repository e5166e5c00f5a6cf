"""Checkpoint folders of fits, which stay in the store until the fits' runs are stored."""

import hashlib
import inspect
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from bnnbench.datasets.base import Split
from bnnbench.engine.declare.description import digest
from bnnbench.engine.declare.grid import Run
from bnnbench.engine.run.measuring.fingerprint import fingerprint
from bnnbench.methods.checkpoints import checkpoint
from bnnbench.methods.checkpoints.checkpoint import CheckpointFolder
from bnnbench.methods.checkpoints.files import Damaged, Ledger, remove

FOLDER = "checkpoints"

SECONDS = "BNNBENCH_CHECKPOINT_SECONDS"
"""Environment variable: minimum number of seconds between two checkpoints of a fit, default 60."""


def seconds_between() -> float:
    """Return the minimum number of seconds between two checkpoints. Raises ValueError."""
    text = os.environ.get(SECONDS, str(checkpoint.SECONDS))
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 <= seconds < math.inf:
        raise ValueError(f"{SECONDS} needs a number of seconds, 0 or more; got {text!r}")
    return seconds


@contextmanager
def checkpoint_folder(
    folder: Path | None,
    runs: Sequence[Run],
    number: int,
    train: Sequence[Split],
    device: torch.device,
    peak_bytes: Callable[[], float],
) -> Iterator[CheckpointFolder]:
    """Use a checkpoint folder within the block, for fit `number` of runs fitted together.

    Without a folder, or if the store is not on this machine, there are no checkpoints.
    """
    if folder is None or not folder.parent.is_dir():
        yield CheckpointFolder(Path())
        return
    keys = [run.key for run in runs]
    identity = {
        "runs": keys,
        "data": [fingerprint(split) for split in train],
        "method": _source_digest(type(runs[0].method)),
    }
    fit_folder = folder / digest([keys, number, device.type])
    with checkpoint.checkpointing(fit_folder, identity, seconds_between(), peak_bytes) as opened:
        yield opened


def provenance_entries(opened: CheckpointFolder, so_far: Mapping[str, Any]) -> dict[str, Any]:
    """Return a record's entries on interruptions, for this fit and earlier fits of its run.

    `resumed` is the number of fits that continued from a checkpoint.
    """
    entries = dict(so_far)
    if opened.resumed:
        entries["resumed"] = entries.get("resumed", 0) + opened.resumed
    if opened.notes:
        entries["checkpoints_not_used"] = [*entries.get("checkpoints_not_used", ()), *opened.notes]
    return entries


def discard(folder: Path, keys: Iterable[str]) -> None:
    """Remove the checkpoints of fits of these runs, and ledgers that cannot be read."""
    finished = set(keys)
    for fit_folder in folder.glob("*/"):
        try:
            ledger = Ledger.read(fit_folder)
        except Damaged:
            remove(fit_folder)
            continue
        if ledger and finished & set(ledger.identity.get("runs", ())):
            remove(fit_folder)


def _source_digest(method: type) -> str:
    """Return a digest of a method's file, which may be outside this project."""
    try:
        return hashlib.sha256(Path(inspect.getfile(method)).read_bytes()).hexdigest()
    except (OSError, TypeError):
        return ""
