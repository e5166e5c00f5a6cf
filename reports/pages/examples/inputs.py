"""The inputs behind test examples, from the data sources recorded in the runs.

They are shown only if this machine has the same data as the runs; torch is imported on use.
"""

import base64
import io
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Float, Shaped, UInt8
from numpy import ndarray

from bnnbench.datasets.column_names import class_names, feature_names
from bnnbench.datasets.errors import DataDamaged, DataUnavailable
from bnnbench.datasets.reading.third_party_text import shortened
from bnnbench.engine.records.record import Record

MOST_FEATURES = 16
"""Maximum number of features shown; those furthest from their training means are chosen."""

LONGEST_REASON = 300

CHANNELS = (1, 3)
"""Numbers of image channels that can be shown: grey, and red, green and blue."""

DIGITS = 5


class NotShown(ValueError):
    """The inputs cannot be shown; the message gives the reason."""


@dataclass(frozen=True)
class Features:
    """The features of one example, as a reader sees them."""

    values: tuple[tuple[str, str], ...]
    """Name and value, in the unit of the file."""


@dataclass(frozen=True, eq=False)
class Inputs:
    """The inputs of the test examples of one fold, under one condition."""

    classes: tuple[str, ...]
    """Names of the classes, or their numbers; empty for real targets."""
    features: tuple[str, ...]
    """Names of the features; empty for images."""
    raw: ndarray | None
    """8-bit images, or features in the unit of the file; None if the condition changes them."""
    standardised: Any = field(repr=False)
    """The inputs as networks receive them."""
    scaling: Any = field(repr=False)

    @property
    def are_images(self) -> bool:
        """True if an example is a picture."""
        return self.standardised.ndim == 4 and self.standardised.shape[1] in CHANNELS

    def image(self, row: int) -> UInt8[ndarray, "height width channels"]:
        """Return the picture of an example, with 8-bit rounded intensities if it was changed."""
        if self.raw is not None:
            return self.raw[row]
        levels = self.scaling.invert(self.standardised[row : row + 1].double())[0] * 255
        return levels.clamp(0, 255).round().numpy().astype(np.uint8).transpose(1, 2, 0)

    def features_of(self, row: int) -> Features:
        """Return the features of an example; if there are many, the most unusual ones."""
        deviations = self.standardised[row].double().numpy().reshape(-1)
        places = list(range(len(deviations)))
        if len(places) > MOST_FEATURES:
            order = np.argsort(-np.abs(deviations), kind="stable")
            places = sorted(order[:MOST_FEATURES].tolist())
        values = self._values(row)
        return Features(tuple((self.features[k], f"{values[k]:.{DIGITS}g}") for k in places))

    def _values(self, row: int) -> Float[ndarray, " features"]:
        if self.raw is not None:
            return self.raw[row].reshape(-1)
        return self.scaling.invert(self.standardised[row : row + 1].double()).numpy().reshape(-1)


def inputs_of(
    runs: Sequence[Record], condition: str, targets: Shaped[ndarray, " examples"]
) -> Inputs:
    """Return the inputs on which runs of one fold were tested.

    `targets` are stored with the predictions. Nothing is downloaded. Raises `NotShown` unless the
    data here are the data of all these runs.
    """
    digests = {
        run.circumstances.data_sha256 or run.circumstances.facts.get("sha256") for run in runs
    }
    if len(digests) > 1:
        raise NotShown("the runs of one fold were scored on different data")
    with _without_network():
        try:
            return _inputs_of(runs[0], condition, targets, digests.pop())
        except (DataUnavailable, DataDamaged, ValueError, OSError) as error:
            raise NotShown(shortened(str(error), LONGEST_REASON)) from error


def _inputs_of(record: Record, condition: str, targets: ndarray, digest: object) -> Inputs:
    from bnnbench.datasets.base import Categorical
    from bnnbench.engine.run.measuring.fingerprint import fingerprint, fingerprint_of_data

    if digest is None or not record.run.get("source"):
        raise NotShown("the records do not say on which data the runs were scored")
    source = _rebuilt(record.run["source"])
    if missing := source.missing():
        raise NotShown(f"the data are not on this machine: {', '.join(missing)}")
    dataset = source.load(record.fold)
    if fingerprint_of_data(dataset) != digest:
        raise NotShown("the data on this machine are not the runs' data: their checksums differ")
    tested = _condition(record, condition)
    split = tested.select(dataset)
    recorded = record.circumstances.condition_data.get(condition)
    if not tested.traits.clean and fingerprint(split) != recorded:
        raise NotShown(
            f"the inputs of {tested.traits.title} are different on this machine: their checksum is "
            "not the runs'"
        )
    if not _same_targets(split.targets, dataset.target, targets):
        raise NotShown("the targets here differ from the targets stored with the predictions")
    classes = dataset.likelihood.classes if isinstance(dataset.likelihood, Categorical) else 0
    is_image = split.inputs.ndim == 4 and split.inputs.shape[1] in CHANNELS
    count = 0 if is_image else split.inputs[0].numel()
    return Inputs(
        class_names(source, classes),
        feature_names(source, count),
        _raw(source, record.fold, split.inputs, dataset.test.inputs),
        split.inputs,
        dataset.scaling,
    )


def _condition(record: Record, name: str) -> Any:
    """Return the condition of this name among those that a run was evaluated under."""
    from bnnbench.engine.declare.attacks import Attack
    from bnnbench.engine.declare.grid import after_each_fit

    evaluations = [_rebuilt(described) for described in record.evaluations]
    acquisition = record.run.get("acquisition")
    rounds = after_each_fit(evaluations, _rebuilt(acquisition) if acquisition else None)
    for condition in (e.condition for evaluations in rounds for e in evaluations):
        if condition.name == name:
            if isinstance(condition, Attack):
                raise NotShown(
                    "an attack's inputs follow the gradient of each run and are not stored"
                )
            return condition
    raise NotShown("the records do not describe this condition")


def _rebuilt(described: object) -> Any:
    """Return the object described in a record; raises `NotShown` if it cannot be built here."""
    from bnnbench.engine.store.rebuilding import rebuilt

    try:
        return rebuilt(described)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise NotShown(f"the data that the runs name cannot be made here: {error}") from error


def _same_targets(here: Any, scale: Any, stored: ndarray) -> bool:
    values = here.numpy()
    if len(values) != len(stored):
        return False
    if not here.is_floating_point():
        return np.array_equal(values, stored)
    unscaled = values[:, 0].astype(float)
    unscaled = scale.mean + scale.std * unscaled if scale else unscaled
    return np.allclose(
        unscaled, stored, rtol=1e-5, atol=1e-5 * float(np.abs(stored).max(initial=0))
    )


def _raw(source: Any, fold: int, inputs: Any, test_inputs: Any) -> ndarray | None:
    """Return the rows as in the files; None if the condition changed them."""
    from bnnbench.datasets.base import TableSource, has_images
    from bnnbench.datasets.raw_rows import raw_rows

    count = len(inputs)
    unchanged = inputs is test_inputs or (
        count <= len(test_inputs) and inputs.equal(test_inputs[:count])
    )
    if not unchanged or not (has_images(source) or isinstance(source, TableSource)):
        return None
    return raw_rows(source, fold).test_inputs[:count]


@contextmanager
def _without_network() -> Iterator[None]:
    """Forbid downloads in the block."""
    before = os.environ.get("BNNBENCH_OFFLINE")
    os.environ["BNNBENCH_OFFLINE"] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ["BNNBENCH_OFFLINE"]
        else:
            os.environ["BNNBENCH_OFFLINE"] = before


def data_uri(image: UInt8[ndarray, "height width channels"]) -> str:
    """Return a picture as a data URI of a PNG with exactly its pixels."""
    from PIL import Image

    buffer = io.BytesIO()
    Image.fromarray(image.squeeze(-1) if image.shape[-1] == 1 else image).save(
        buffer, "PNG", optimize=True
    )
    return f"data:image/png;base64,{base64.b64encode(buffer.getvalue()).decode()}"
