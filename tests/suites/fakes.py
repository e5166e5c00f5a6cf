"""Small sources and methods, some of which misbehave, for the tests of the engine."""

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from bnnbench.datasets.base import Categorical, Dataset, Scaling, Split, Table
from bnnbench.datasets.errors import DataUnavailable
from bnnbench.datasets.reading import tables
from bnnbench.methods.base import InferenceDiverged, Problem
from bnnbench.methods.fitting.progress import report
from bnnbench.methods.predictions.predictive import CategoricalPredictive, GaussianPredictive


@dataclass(frozen=True)
class Line:
    """Heights in metres, 5 + 2 x + noise."""

    name: str = "line"
    folds: int = 4
    rows: int = 24
    origin: str = "original"
    licence: str = "none"
    bytes: int = 0

    target: ClassVar[tuple[str, str]] = ("height", "m")

    def table(self, fold: int) -> Table:
        rng = np.random.default_rng(fold)
        inputs = rng.normal(size=(self.rows, 2))
        heights = 5 + 2 * inputs[:, 0] + 0.1 * rng.normal(size=self.rows)
        cut = 2 * self.rows // 3
        return Table(inputs[:cut], heights[:cut], inputs[cut:], heights[cut:])

    def load(self, fold: int) -> Dataset:
        return tables.load(self, fold)

    def missing(self) -> tuple[str, ...]:
        return ()

    def fetch(self) -> None: ...

    def fallbacks(self) -> tuple["Line", ...]:
        return ()


@dataclass(frozen=True)
class Elsewhere(Line):
    """A line whose file is missing; another line may replace it."""

    name: str = "elsewhere"

    def load(self, fold: int) -> Dataset:
        raise DataUnavailable("elsewhere: no file; run bnnbench data fetch elsewhere")

    def missing(self) -> tuple[str, ...]:
        return ("elsewhere.csv",)

    def fetch(self) -> None:
        raise DataUnavailable("elsewhere: no network; copy elsewhere.csv into the data folder")

    def fallbacks(self) -> tuple[Line, ...]:
        return (Line("ersatz", origin="stand-in"),)


@dataclass(frozen=True)
class Uneven(Line):
    """A line whose folds have different numbers of rows."""

    name: str = "uneven"

    def table(self, fold: int) -> Table:
        return Line(rows=self.rows + 3 * fold).table(fold)


@dataclass(frozen=True)
class Coins:
    """Two classes, separated by the sign of the first feature."""

    name: str = "coins"
    folds: int = 1
    origin: str = "original"
    licence: str = "none"
    bytes: int = 0

    def load(self, fold: int) -> Dataset:
        rng = torch.Generator().manual_seed(fold)
        inputs = torch.randn(30, 3, generator=rng)
        targets = (inputs[:, 0] > 0).long()
        return Dataset(
            train=Split(inputs[:20], targets[:20]),
            test=Split(inputs[20:], targets[20:]),
            likelihood=Categorical(2),
            origin=self.origin,
            scaling=Scaling(torch.zeros(3), torch.ones(3)),
        )

    def missing(self) -> tuple[str, ...]:
        return ()

    def fetch(self) -> None: ...

    def fallbacks(self) -> tuple["Coins", ...]:
        return ()


@dataclass(frozen=True)
class Constant:
    """Predicts draws around one number, or one probability, for every point."""

    centre: Tensor
    categorical: bool
    nan: bool = False

    @property
    def diagnostics(self) -> dict[str, float]:
        return {"centre": float(self.centre)}

    def predict(
        self, inputs: Tensor, rng: torch.Generator
    ) -> CategoricalPredictive | GaussianPredictive:
        shift = torch.randn(3, 1, 1, generator=rng)
        if self.nan:
            shift = shift * torch.nan
        if self.categorical:
            logits = torch.cat([shift, -shift], -1).expand(3, len(inputs), 2)
            return CategoricalPredictive(logits.log_softmax(-1))
        means = (self.centre + 0.1 * shift).expand(3, len(inputs), 1)
        return GaussianPredictive(means, torch.ones_like(means))


def fitted(problem: Problem, rng: torch.Generator) -> Constant:
    centre = problem.train.targets.double().mean() + 0.1 * torch.randn(1, generator=rng)
    return Constant(centre.float(), isinstance(problem.likelihood, Categorical))


@dataclass(frozen=True)
class Mean:
    """Predicts the training mean with a small perturbation."""

    shake: float = 1.0

    def fit(self, problem: Problem, rng: torch.Generator) -> Constant:
        report(1, 1, 0.5)
        return fitted(problem, rng)


@dataclass(frozen=True)
class Together:
    """Like `Mean`, for several problems at once; those with an odd first value fail on demand."""

    diverges_at: float = torch.inf

    def fit(self, problem: Problem, rng: torch.Generator) -> Constant:
        (posterior,) = self.fit_many([problem], [rng])
        if isinstance(posterior, InferenceDiverged):
            raise posterior
        return posterior

    def fit_many(self, problems, rngs) -> list[Constant | InferenceDiverged]:
        if len({problem.train.inputs.shape for problem in problems}) > 1:
            raise ValueError("problems of equal shape are needed")
        return [
            InferenceDiverged("too high")
            if problem.train.inputs[0, 0] > self.diverges_at
            else fitted(problem, rng)
            for problem, rng in zip(problems, rngs, strict=True)
        ]


@dataclass(frozen=True)
class Slow:
    """Sleeps during its epochs."""

    seconds: float = 0.2
    epochs: int = 10

    def fit(self, problem: Problem, rng: torch.Generator) -> Constant:
        for epoch in range(self.epochs):
            time.sleep(self.seconds / self.epochs)
            report(epoch + 1, self.epochs, 1 / (1 + epoch))
        return fitted(problem, rng)


@dataclass(frozen=True)
class Diverging:
    """Always diverges."""

    def fit(self, problem: Problem, rng: torch.Generator) -> Constant:
        raise InferenceDiverged("the loss became infinite in epoch 3")


@dataclass(frozen=True)
class Raising:
    """Has a bug."""

    def fit(self, problem: Problem, rng: torch.Generator) -> Constant:
        raise RuntimeError("a bug in the method")


@dataclass(frozen=True)
class Impatient:
    """Represents a user who presses Ctrl-C during the fit."""

    def fit(self, problem: Problem, rng: torch.Generator) -> Constant:
        raise KeyboardInterrupt


@dataclass(frozen=True)
class Blank:
    """Predicts NaN."""

    def fit(self, problem: Problem, rng: torch.Generator) -> Constant:
        return Constant(torch.zeros(1), isinstance(problem.likelihood, Categorical), nan=True)


@dataclass(frozen=True)
class Dying:
    """Kills its process, up to `times` times; a file counts them."""

    counter: str
    times: int

    def fit(self, problem: Problem, rng: torch.Generator) -> Constant:
        counter = Path(self.counter)
        deaths = len(counter.read_text()) if counter.exists() else 0
        if deaths < self.times:
            counter.write_text("x" * (deaths + 1))
            os.kill(os.getpid(), signal.SIGKILL)
        return fitted(problem, rng)


@dataclass(frozen=True)
class Unaligned:
    """Fails like a method whose GPU kernel is stopped, up to `times` times; a file counts them."""

    counter: str
    times: int

    def fit(self, problem: Problem, rng: torch.Generator) -> Constant:
        with Path(self.counter).open("a") as file:
            file.write("x")
        if len(Path(self.counter).read_text()) <= self.times:
            raise torch.AcceleratorError(
                "CUDA error: misaligned address\nSearch for it in the docs"
            )
        return fitted(problem, rng)


@dataclass(frozen=True)
class Fragile:
    """Fits several problems at once; one with a first input above `most` kills the process."""

    most: float

    def fit(self, problem: Problem, rng: torch.Generator) -> Constant:
        (posterior,) = self.fit_many([problem], [rng])
        return posterior

    def fit_many(self, problems, rngs) -> list[Constant]:
        if any(problem.train.inputs[0, 0] > self.most for problem in problems):
            os.kill(os.getpid(), signal.SIGKILL)
        return [fitted(problem, rng) for problem, rng in zip(problems, rngs, strict=True)]


@dataclass(frozen=True)
class Hungry:
    """Holds the given amount of memory for a while."""

    bytes: int

    def fit(self, problem: Problem, rng: torch.Generator) -> Constant:
        held = torch.ones(self.bytes, dtype=torch.uint8)
        time.sleep(2)
        return fitted(problem, rng) if held.any() else Constant(torch.zeros(1), False)


@dataclass(frozen=True)
class Busy:
    """Computes for the given number of processor seconds."""

    seconds: float

    def fit(self, problem: Problem, rng: torch.Generator) -> Constant:
        start = time.thread_time()
        while time.thread_time() - start < self.seconds:
            pass
        return fitted(problem, rng)


@dataclass(frozen=True)
class NeedsSettings:
    """Cannot be constructed without settings."""

    rate: float

    def fit(self, problem: Problem, rng: torch.Generator) -> Constant:
        return fitted(problem, rng)
