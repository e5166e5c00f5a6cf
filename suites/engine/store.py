"""One folder per run, named by what the run is; files appear whole or not at all."""

import io
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from methods.predictive import (
    CategoricalPredictive,
    CategoricalSummary,
    GaussianPredictive,
    Predictive,
)
from suites.engine.record import Record, from_json, to_json

Predictions = Mapping[str, tuple[Predictive, Tensor]]
"""condition → prediction and targets, both as the method saw them"""

KEPT_DRAWS_BYTES = 64 * 2**20
"""Categorical draws beyond this are kept as their mixture and expected entropy."""

SHAPES = {kind.__name__: kind for kind in
          (CategoricalPredictive, CategoricalSummary, GaussianPredictive)}  # fmt: skip


@dataclass(frozen=True)
class Store:
    """The results of one suite: `folder/runs/<key>/{record.json,predictions.npz}`."""

    folder: Path

    @property
    def runs(self) -> Path:
        """The folder of the run folders."""
        return self.folder / "runs"

    def write(self, record: Record, predictions: Predictions | None) -> None:
        """Keep a run, replacing what an earlier attempt left."""
        self.runs.mkdir(parents=True, exist_ok=True)
        workshop = Path(tempfile.mkdtemp(prefix=f".{record.key}.", dir=self.runs))
        try:
            if predictions is not None:
                _write(workshop / "predictions.npz", pack(predictions))
            _write(workshop / "record.json", to_json(record).encode())
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
        _sync_folder(place.parent)

    def rewrite(self, record: Record) -> None:
        """Replace a run's record and leave its predictions as they are."""
        _write(self.runs / record.key / "record.json", to_json(record).encode())

    def read(self, key: str) -> Record | None:
        """Return the record of a run, or None where there is none.

        Raises ValueError, naming the file and the cure, when it is damaged.
        """
        path = self.runs / key / "record.json"
        try:
            return from_json(path.read_text())
        except FileNotFoundError:
            return None
        except ValueError as error:
            raise ValueError(f"{path}: {error}; remove {path.parent} to run it again") from error

    def keys(self) -> Iterator[str]:
        """Return the names of all kept runs, in order."""
        if self.runs.is_dir():
            yield from sorted(p.name for p in self.runs.iterdir() if not p.name.startswith("."))

    def records(self) -> Iterator[Record]:
        """Return all records, in the order of their keys."""
        for key in self.keys():
            if record := self.read(key):
                yield record

    def predictions(self, key: str) -> Predictions:
        """Return what `write` kept; raises FileNotFoundError for a run that has none."""
        return unpack((self.runs / key / "predictions.npz").read_bytes())


def pack(predictions: Predictions) -> bytes:
    """Return the predictions as the bytes of an npz file."""
    arrays: dict[str, np.ndarray] = {}
    for condition, (prediction, targets) in predictions.items():
        prefix = f"{condition}/{type(prediction).__name__}/"
        arrays |= {prefix + name: t.cpu().numpy() for name, t in vars_of(prediction).items()}
        arrays[f"{condition}/targets"] = targets.cpu().numpy()
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **arrays)
    return buffer.getvalue()


def vars_of(prediction: Predictive) -> dict[str, Tensor]:
    """Return the fields of a prediction, without what it has cached."""
    names = type(prediction).__dataclass_fields__  # type: ignore[attr-defined]
    return {name: getattr(prediction, name) for name in names}


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


def kept(prediction: Predictive) -> Predictive:
    """Return what the store keeps of a prediction, which is also what is scored."""
    if isinstance(prediction, CategoricalPredictive):
        if prediction.log_probs.nbytes > KEPT_DRAWS_BYTES:
            return prediction.summary()
    return prediction


def _write(path: Path, content: bytes) -> None:
    """Write a file whole or not at all."""
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
