"""The interface of data sources: splits, likelihoods and facts about them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol, TypeGuard, runtime_checkable

import numpy as np
import torch
from jaxtyping import Float, Int, UInt8
from torch import Generator, Tensor

from bnnbench.datasets.origins import Origin
from bnnbench.datasets.reading.withheld import refuse

Part = Literal["train", "test"]


@dataclass(frozen=True)
class Categorical:
    """The target is one of `classes` labels; a network gives one logit per class."""

    classes: int


@dataclass(frozen=True)
class Gaussian:
    """The target is real with homoscedastic noise; a network gives the mean.

    `noise_std` is in standardised target units; None lets the method learn it.
    """

    noise_std: float | None = None


Likelihood = Categorical | Gaussian


@runtime_checkable
class Augmentation(Protocol):
    """A random change of training inputs that leaves their targets valid."""

    def __call__(
        self, inputs: Float[Tensor, " points *features"], rng: Generator
    ) -> Float[Tensor, " points *features"]:
        """Return changed inputs; equal streams give equal results."""
        ...


@dataclass(frozen=True)
class Split:
    """Inputs and their targets, as passed to a method or a metric."""

    inputs: Float[Tensor, " points *features"]
    targets: Int[Tensor, " points"] | Float[Tensor, "points outputs"]
    augmentation: Augmentation | None = None
    """Random change of the training inputs, drawn each time a network trains on them."""

    def __len__(self) -> int:
        return len(self.inputs)

    def rows(self, index: slice | Int[Tensor, " rows"]) -> "Split":
        """Return the split of the chosen rows."""
        return replace(self, inputs=self.inputs[index], targets=self.targets[index])

    def to(self, device: torch.device | str) -> "Split":
        """Return the split on `device`."""
        return replace(self, inputs=self.inputs.to(device), targets=self.targets.to(device))


@dataclass(frozen=True)
class Scaling:
    """The affine map x ↦ (x - mean) / std, fitted on training rows.

    Shapes broadcast against a row: `(features,)` for tables, `(channels, 1, 1)` for images.
    """

    mean: Tensor
    std: Tensor

    def apply(self, inputs: Tensor) -> Tensor:
        """Return standardised inputs."""
        return (inputs - self.mean.to(inputs)) / self.std.to(inputs)

    def invert(self, inputs: Tensor) -> Tensor:
        """Return inputs in their original units (images: intensities in [0, 1])."""
        return inputs * self.std.to(inputs) + self.mean.to(inputs)


@dataclass(frozen=True)
class Target:
    """A regression target: its name, its unit and its standardisation.

    original = mean + std * standardised
    """

    name: str
    unit: str
    mean: float
    std: float


@dataclass(frozen=True)
class Exact:
    """The posterior over functions at the test rows, if the data distribution is known.

    The output is one number in standardised target units, or class probabilities.
    """

    mean: Float[Tensor, "points outputs"]
    std: Float[Tensor, " points"]
    """Standard deviation of the output; for probabilities, the root of their summed variances."""
    excess_risk: float
    """Excess of the posterior predictive's risk over the true distribution's risk, in nats."""


@dataclass(frozen=True)
class Dataset:
    """One fold of one source, standardised with statistics of its training rows.

    `facts` are plain values for the record and the report; `bnnbench.datasets.facts` lists them.
    """

    train: Split
    test: Split
    likelihood: Likelihood
    origin: Origin
    scaling: Scaling
    target: Target | None = None
    truth: Float[Tensor, "points outputs"] | None = None
    """The expected test targets, standardised, or the class probabilities, if the data distribution
    is known."""
    exact: Exact | None = None
    calibration: Split | None = None
    """Rows by which methods choose, in place of held-out training rows; not part of `test`."""
    facts: Mapping[str, object] = field(default_factory=dict)

    @property
    def columns(self) -> int:
        """The number of classes or outputs."""
        if isinstance(self.likelihood, Categorical):
            return self.likelihood.classes
        return self.train.targets.shape[1]

    @property
    def target_zero(self) -> float | None:
        """The standardised value of a target of 0; None for classes and unknown units."""
        return -self.target.mean / self.target.std if self.target else None

    @property
    def splits(self) -> tuple[Split, ...]:
        """The training, test and, if there are any, calibration rows."""
        return (self.train, self.test, *([self.calibration] if self.calibration else []))


@runtime_checkable
class DataSource(Protocol):
    """A frozen dataclass of plain fields, so that it prints, compares and hashes."""

    @property
    def name(self) -> str:
        """The name in tables and conditions, such as "cifar10"."""
        ...

    @property
    def folds(self) -> int:
        """The number of folds."""
        ...

    @property
    def origin(self) -> Origin:
        """The origin of the source's data: the official files, some rows of them, or other data."""
        ...

    @property
    def licence(self) -> str:
        """The licence that the publisher states."""
        ...

    @property
    def bytes(self) -> int:
        """The size of the files that `fetch` downloads; 0 for data inside a dependency."""
        ...

    def load(self, fold: int) -> Dataset:
        """Return the fold; equal on every call."""
        ...

    def missing(self) -> tuple[str, ...]:
        """Return the files that the data folder lacks; empty when `load` needs no network."""
        ...

    def fetch(self) -> None:
        """Download and verify missing files; raises `DataUnavailable`."""
        ...

    def fallbacks(self) -> "tuple[DataSource, ...]":
        """Return sources that may replace this one, in order; the last needs no files."""
        ...


@runtime_checkable
class ImageSource(DataSource, Protocol):
    """A source whose raw images can be corrupted, rotated or shown to a network trained on others.

    `missing`, `fetch` and `fallbacks` concern `load`, or only the images of one part.
    """

    @property
    def classes(self) -> int:
        """The number of labels; 0 if the files hold none, and `load` then raises ValueError."""
        ...

    def images(
        self, part: Part
    ) -> tuple[UInt8[np.ndarray, "points height width channels"], Int[np.ndarray, " points"]]:
        """Return raw images and labels; labels are -1 if the file holds none."""
        ...

    def missing(self, part: Part | None = None) -> tuple[str, ...]: ...

    def fetch(self, part: Part | None = None) -> None: ...

    def fallbacks(self, part: Part | None = None) -> "tuple[ImageSource, ...]": ...


@dataclass(frozen=True)
class Table:
    """The raw rows of one fold in original units."""

    train_inputs: Float[np.ndarray, "train features"]
    train_targets: Float[np.ndarray, " train"]
    test_inputs: Float[np.ndarray, "test features"]
    test_targets: Float[np.ndarray, " test"]
    ones: tuple[int, ...] = ()
    """Constant features that are standardised to 1 instead of 0."""
    noise_std: float | None = None
    """Standard deviation of the target noise, if methods may know it."""
    classes: int = 0
    """The number of classes if the targets are class indices; 0 for real targets."""
    names: tuple[str, ...] = ()
    """The names of the features, for messages; empty if unknown."""


@runtime_checkable
class TableSource(DataSource, Protocol):
    """A source of rows with one target, real or a class."""

    @property
    def target(self) -> tuple[str, str]:
        """The target's name and unit."""
        ...

    def table(self, fold: int) -> Table:
        """Return the raw rows of the fold."""
        ...


@runtime_checkable
class PoolSource(DataSource, Protocol):
    """A source for active learning: `load` gives the initial rows; rows of a pool can be added.

    The pool's targets appear only in the data sets of `with_acquired`, for acquired rows.
    """

    def candidates(self, fold: int, acquired: Sequence[int]) -> Int[np.ndarray, " candidates"]:
        """Return the rows still in the pool, in random order."""
        ...

    def inputs(
        self, rows: Int[np.ndarray, " rows"], scaling: Scaling
    ) -> Float[Tensor, "rows *features"]:
        """Return the rows' inputs for a network that was trained under `scaling`."""
        ...

    def with_acquired(self, fold: int, acquired: Sequence[int]) -> Dataset:
        """Return the fold with these pool rows added to its training rows."""
        ...

    def limited(self, rows: int) -> "PoolSource":
        """Return the source with at most this many training and test rows."""
        ...


def has_images(source: DataSource) -> TypeGuard[ImageSource]:
    """Return whether a source, or the source that it wraps, consists of images."""
    inner = getattr(source, "source", None)
    return isinstance(source, ImageSource) if inner is None else has_images(inner)


def check_fold(source: DataSource, fold: int) -> None:
    """Raise ValueError unless the source has the fold."""
    refuse()
    if not 0 <= fold < source.folds:
        raise ValueError(f"{source.name} has folds 0 to {source.folds - 1}; got {fold}")
