"""Fits that are killed in some epoch, and continue from their checkpoints."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bnnbench.methods.checkpoints import checkpoint
from bnnbench.methods.fitting import progress


class Killed(BaseException):
    """Represents the end of the process."""


def counted(fit: Callable[[], Any]) -> tuple[Any, int]:
    """Return the result of the fit and the number of epochs that it reports."""
    reports = []
    with progress.listening(lambda *report: reports.append(report)):
        return fit(), len(reports)


def killed_in(epoch: int, fit: Callable[[], object]) -> None:
    """End the fit at the report of an epoch, before its checkpoint."""
    left = epoch

    def listen(done: int, total: int, loss: float) -> None:
        nonlocal left
        left -= 1
        if not left:
            raise Killed

    with progress.listening(listen), pytest.raises(Killed):
        fit()


def kept(folder: Path, fit: Callable[[], Any], every: float = 0.0, of: str = "this"):
    """Return the fit with a folder for checkpoints, after each epoch if `every` is 0."""

    def inside():
        with checkpoint.checkpointing(folder, {"fit": of}, every):
            return fit()

    return inside


def files(folder: Path) -> list[Path]:
    return sorted(folder.iterdir()) if folder.exists() else []
