"""One folder per run, named by what the run is; files appear whole or not at all."""

import fcntl
import io
import os
import shutil
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from methods.ciber.predictive import AffinePredictive, RectifiedPredictive
from methods.predictive import (
    CategoricalPredictive,
    CategoricalSummary,
    GaussianPredictive,
    Predictive,
)
from suites.engine.record import Record, from_json, newest, to_json

Predictions = Mapping[str, tuple[Predictive, Tensor]]
"""condition → prediction and targets, both as the method saw them"""

KEPT_DRAWS_BYTES = 64 * 2**20
"""Categorical draws of a condition beyond this are kept as their summary."""

KEPT_RUN_BYTES = 256 * 2**20
"""Many conditions share this, alike, for their draws: each run is packed in memory as a whole."""

KEPT_ROUND_BYTES = 64 * 2**10
"""Active learning keeps a regression's draws of a round before the last up to this size."""

SHAPES: Mapping[str, Any] = {kind.__name__: kind for kind in
          (CategoricalPredictive, CategoricalSummary, GaussianPredictive, AffinePredictive,
           RectifiedPredictive)}  # fmt: skip


class Damaged(ValueError):
    """A file of a run is missing or not whole; names it and the cure."""

    def __init__(self, path: Path, reason: object) -> None:
        super().__init__(f"{path}: {reason}; remove {path.parent} to run it again")


class Unwritable(OSError):
    """There is no place for results; names it and the cure."""


@dataclass(frozen=True)
class Store:
    """The results of one suite: `folder/runs/<key>/{record.json,predictions.npz}`.

    A process may be killed at any moment and leaves whole runs only. Nothing waits for the
    disk (that would cost more than all else here), so a power cut may truncate the last
    files; reading one says so.
    """

    folder: Path

    @property
    def runs(self) -> Path:
        """The folder of the run folders."""
        return self.folder / "runs"

    def write(self, record: Record, predictions: bytes | None) -> None:
        """Keep a run and its packed predictions, replacing what an earlier attempt left."""
        self.runs.mkdir(parents=True, exist_ok=True)
        workshop = Path(tempfile.mkdtemp(prefix=f".{record.key}.", dir=self.runs))
        try:
            if predictions is not None:
                write_whole(workshop / "predictions.npz", predictions)
            write_whole(workshop / "record.json", to_json(record).encode())
            workshop.chmod(0o755)
            self._move_into_place(workshop, self.runs / record.key)
        finally:
            shutil.rmtree(workshop, ignore_errors=True)

    @staticmethod
    def _move_into_place(workshop: Path, place: Path) -> None:
        if place.exists():
            retired = Path(tempfile.mkdtemp(prefix=f".{place.name}.", dir=place.parent))
            place.rename(retired / "old")
            workshop.rename(place)
            shutil.rmtree(retired, ignore_errors=True)
        else:
            workshop.rename(place)

    def rewrite(self, record: Record) -> None:
        """Replace a run's record and leave its predictions as they are."""
        write_whole(self.runs / record.key / "record.json", to_json(record).encode())

    def read(self, key: str) -> Record | None:
        """Return the record of a run, or None where there is none.

        Raises `Damaged`, naming the file and the cure.
        """
        path = self.runs / key / "record.json"
        try:
            return from_json(path.read_text())
        except FileNotFoundError:
            return None
        except ValueError as error:
            raise Damaged(path, error) from error

    def keys(self) -> Iterator[str]:
        """Return the names of all kept runs, in order."""
        if self.runs.is_dir():
            folders = (p for p in self.runs.iterdir() if not p.name.startswith("."))
            yield from sorted(p.name for p in folders if p.is_dir())

    def records(self) -> Iterator[Record]:
        """Return all records, in the order of their keys."""
        for key in self.keys():
            if record := self.read(key):
                yield record

    def current(self) -> list[Record]:
        """Return one record for each dataset, method, fold and seed: the one chosen last.

        Earlier ones, of other settings under the same names, stay in the store unseen.
        """
        return newest(self.records())

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the store for one driver; raises `BlockingIOError` while another has it.

        The lock goes with the process, however that ends. Raises `Unwritable`.
        """
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            file = (self.folder / ".lock").open("w")
        except OSError as error:
            raise Unwritable(f"cannot write results: {error}; choose a folder by --out") from error
        with file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield

    def predictions(self, key: str) -> Predictions:
        """Return what `write` kept; raises `Damaged` where it is missing or not whole."""
        path = self.runs / key / "predictions.npz"
        try:
            return unpack(path.read_bytes())
        except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
            raise Damaged(path, error) from error


def pack(predictions: Predictions) -> bytes:
    """Return the predictions as the bytes of an npz file."""
    arrays: dict[str, np.ndarray] = {}
    for condition, (prediction, targets) in predictions.items():
        prefix = f"{condition}/{type(prediction).__name__}/"
        arrays |= {prefix + name: t.cpu().numpy() for name, t in vars_of(prediction).items()}
        arrays[f"{condition}/targets"] = targets.cpu().numpy()
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)  # type: ignore[arg-type]
    return buffer.getvalue()


def vars_of(prediction: Predictive) -> dict[str, Tensor]:
    """Return the fields that a prediction has, without what it has cached.

    Raises TypeError for a kind of prediction that the store does not know.
    """
    if type(prediction).__name__ not in SHAPES:
        raise TypeError(f"a prediction is one of {', '.join(SHAPES)}, not {type(prediction)}")
    names = type(prediction).__dataclass_fields__  # type: ignore[attr-defined]
    fields = {name: getattr(prediction, name) for name in names}
    return {name: tensor for name, tensor in fields.items() if tensor is not None}


def unpack(content: bytes) -> Predictions:
    """Return the predictions that `pack` made."""
    fields: dict[str, dict[str, Tensor]] = {}
    targets: dict[str, Tensor] = {}
    kinds: dict[str, str] = {}
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        for path in arrays.files:
            condition, *rest = path.split("/")
            if rest == ["targets"]:
                targets[condition] = torch.from_numpy(arrays[path])
            else:
                kinds[condition], name = rest
                fields.setdefault(condition, {})[name] = torch.from_numpy(arrays[path])
    return {c: (SHAPES[kinds[c]](**fields[c]), targets[c]) for c in targets}


def kept(prediction: Predictive, conditions: int = 1) -> Predictive:
    """Return what the store keeps of a prediction, one of so many, which is also what is scored."""
    if not isinstance(prediction, CategoricalPredictive):
        return prediction
    most = min(KEPT_DRAWS_BYTES, KEPT_RUN_BYTES // conditions)
    return prediction.summary() if prediction.log_probs.nbytes > most else prediction


def kept_of_earlier(predictions: Predictions) -> dict[str, tuple[Predictive, Tensor]]:
    """Return what is kept of rounds of active learning before the last.

    Of class probabilities the mixture and its expected entropy, of other predictions those of
    at most `KEPT_ROUND_BYTES`; the scores of all rounds are kept in any case.
    """
    found: dict[str, tuple[Predictive, Tensor]] = {}
    for condition, (prediction, targets) in predictions.items():
        if isinstance(prediction, CategoricalPredictive):
            found[condition] = (prediction.summary(), targets)
        elif sum(tensor.nbytes for tensor in vars_of(prediction).values()) <= KEPT_ROUND_BYTES:
            found[condition] = (prediction, targets)
    return found


def write_whole(path: Path, content: bytes) -> None:
    """Write a file whole or not at all."""
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
