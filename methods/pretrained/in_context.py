"""Rows as context: a fit stores them, and a pretrained network reads them in each prediction."""

import hashlib
import importlib
import importlib.util
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from bnnbench.datasets.base import Categorical, Likelihood, Split
from bnnbench.methods.base import PackageMissing, Posterior, PriorUse, Problem, Unsupported
from bnnbench.methods.fitting.settings import require_count
from bnnbench.methods.libraries.sklearn_rows import (
    ClassifierPosterior,
    OneClass,
    answers,
    categorical,
    labels,
    of_all_classes,
    seed_of,
    single_target,
    vectors,
)
from bnnbench.methods.predictions.base import Predictive
from bnnbench.methods.tuning.space import Space


@dataclass(frozen=True)
class Pretrained(ABC):
    """A network in a file of weights, which its package reads and never downloads."""

    prior_use: ClassVar[PriorUse] = "own"
    space: ClassVar[Space] = Space()
    library: ClassVar[str]
    weights_from: ClassVar[str]
    """Where the weights are published."""

    weights: str | None = None
    """File of weights, for classes or for real targets; needed."""
    sha256: str = ""
    """Checksum of that file, filled in; a file with another checksum is rejected."""
    size: int = 8
    """Number of differently preprocessed copies of the rows whose predictions are averaged."""
    most_rows: int = 10_000
    """Maximum number of training rows."""
    most_classes: int = 10
    """Maximum number of classes, that of the published networks."""

    def __post_init__(self) -> None:
        require_count(self, "size", "most_rows", "most_classes")
        if self.weights is None:
            return
        if not (path := Path(self.weights)).is_file():
            raise ValueError(f"{type(self).__name__}: there is no file of weights {self.weights}")
        with path.open("rb") as content:
            digest = hashlib.file_digest(content, "sha256").hexdigest()
        if self.sha256 not in ("", digest):
            raise ValueError(
                f"{type(self).__name__}: the file {self.weights} has changed: needed SHA-256 "
                f"{self.sha256}; got {digest}"
            )
        object.__setattr__(self, "sha256", digest)

    @property
    def lacks(self) -> str:
        """The package or the weights that the method lacks, "" if nothing is missing."""
        had = self.weights is not None and importlib.util.find_spec(self.library)
        return "" if had else f"needs {self._cure}"

    def fit(self, problem: Problem, rng: torch.Generator) -> Posterior:
        """Return the stored rows.

        Raises `PackageMissing` without the package or weights, and `Unsupported` for several
        targets, equal targets, too many rows or classes, and for what the package refuses.
        """
        seed, rows = seed_of(rng), len(problem.train)
        if self.weights is None:
            raise PackageMissing(f"needed {self._cure}")
        if rows > self.most_rows:
            raise Unsupported(
                f"{type(self).__name__} needed at most {self.most_rows:,} rows; got {rows:,}: a "
                "larger most_rows allows more than the network was trained for"
            )
        if isinstance(problem.likelihood, Categorical):
            if len(seen := np.unique(labels(problem))) == 1:
                return ClassifierPosterior(OneClass(seen), problem.likelihood.classes, rows, {})
            self._require_classes(len(seen))
        elif single_target(problem, self).std() == 0:
            raise Unsupported(
                f"{type(self).__name__} needed targets that differ; got equal ones: use Marginal"
            )
        posterior = InContextPosterior(self, problem.train, problem.likelihood, seed, {})
        try:
            _ = posterior.estimator  # refuses rows now, and not in a prediction
        except ValueError as error:
            raise Unsupported(f"{type(self).__name__}: {error}") from error
        return posterior

    def _require_classes(self, classes: int) -> None:
        if classes > self.most_classes:
            raise Unsupported(
                f"{type(self).__name__} needed at most {self.most_classes} classes; got {classes}"
            )

    @property
    def _cure(self) -> str:
        name = type(self).__name__
        return (
            f"{self.library} and a file of its weights: pip install bnnbench[{self.library}], and "
            f"{name}(weights=PATH) with a file from {self.weights_from}"
        )

    def package(self) -> ModuleType:
        """Return the package; raises `PackageMissing` if it is not installed."""
        try:
            return importlib.import_module(self.library)
        except ImportError as missing:
            raise PackageMissing(f"needed {self._cure}") from missing

    @abstractmethod
    def estimator(self, of_classes: bool, seed: int, device: torch.device) -> Any:
        """Return the package's estimator, not yet fitted."""
        ...

    @abstractmethod
    def real(self, estimator: Any, points: np.ndarray) -> Predictive:
        """Return the prediction of real targets by a fitted estimator."""
        ...


@dataclass(frozen=True)
class InContextPosterior:
    """The training rows, with the network that reads them."""

    method: Pretrained
    rows: Split
    likelihood: Likelihood
    seed: int
    diagnostics: Mapping[str, float]

    @cached_property
    def estimator(self) -> Any:
        """The package's estimator, given the rows."""
        of_classes = isinstance(self.likelihood, Categorical)
        targets = self.rows.targets.cpu()
        targets = targets.long().numpy() if of_classes else targets.double().numpy()[:, 0]
        with undisturbed():
            estimator = self.method.estimator(of_classes, self.seed, self.rows.inputs.device)
            return estimator.fit(vectors(self.rows.inputs), targets)

    def predict(
        self, inputs: Float[Tensor, "points *features"], rng: torch.Generator
    ) -> Predictive:
        """Return the network's prediction; the stream is not used."""
        points = vectors(inputs)
        if not isinstance(self.likelihood, Categorical):
            with undisturbed():
                return self.method.real(self.estimator, points)
        with undisturbed():
            probabilities = answers(self.estimator.predict_proba, points)
        complete = of_all_classes(probabilities, self.estimator.classes_, self.likelihood.classes)
        return categorical(complete[None], len(self.rows), inputs)


@contextmanager
def undisturbed() -> Iterator[None]:
    """Restore the global generators of torch and NumPy, which packages draw from, at the end."""
    state = np.random.get_state()  # noqa: NPY002 (the packages seed it)
    with torch.random.fork_rng(), torch.no_grad():
        try:
            yield
        finally:
            np.random.set_state(state)  # noqa: NPY002
