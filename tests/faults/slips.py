"""A suite of two valid methods, and faulty methods to put between them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from bnnbench.datasets.conditions.clean import Clean
from bnnbench.engine.declare.case import Case
from bnnbench.engine.declare.grid import Evaluation, Suite
from bnnbench.methods.base import InferenceDiverged, NotDifferentiable
from bnnbench.methods.predictions.predictive import GaussianPredictive
from tests.suites.fakes import Line, Mean, fitted


def gaussian(inputs: Tensor, mean: float = 0.0, outputs: int = 1) -> GaussianPredictive:
    means = torch.full((3, len(inputs), outputs), mean)
    return GaussianPredictive(means, torch.ones_like(means))


@dataclass(frozen=True)
class Saying:
    """A posterior whose diagnostics and predictions are the results of functions."""

    prediction: Callable[[Tensor], Any]
    told: Callable[[], Any] = dict

    @property
    def diagnostics(self) -> Any:
        return self.told()

    def predict(self, inputs: Tensor, rng: torch.Generator) -> Any:
        return self.prediction(inputs)


class Mute(RuntimeError):
    """An error that cannot be printed."""

    def __str__(self) -> str:
        raise RuntimeError("no words")

    __repr__ = __str__


class MuteDivergence(InferenceDiverged):
    """A divergence that cannot be printed."""

    __str__ = __repr__ = Mute.__str__


class MuteRefusal(NotDifferentiable):
    """A refusal that cannot be printed."""

    __str__ = __repr__ = Mute.__str__


class Beyond(BaseException):
    """An error that `except Exception` does not catch."""


@dataclass(frozen=True)
class Own:
    """A predictive with a mean; each kind has another fault."""

    centre: Any

    def __len__(self) -> int:
        return len(self.centre)

    def pack(self) -> Mapping[str, Any]:
        return {"centre": self.centre}

    @classmethod
    def unpack(cls, arrays: Mapping[str, Tensor]) -> "Own":
        return cls(arrays["centre"])

    @property
    def mean(self) -> Any:
        return self.centre

    def rescaled(self, mean: float, std: float) -> "Own":
        return type(self)(mean + std * self.centre)


class WithGradient(Own):
    """Its mean needs a gradient, even after unpacking."""

    @property
    def mean(self) -> Tensor:
        return self.centre.requires_grad_()

    def pack(self) -> Mapping[str, Any]:
        return {"centre": self.mean}


class PackedTwice(Own):
    """It can be packed once."""

    def pack(self) -> Mapping[str, Any]:
        if getattr(self, "packed", False):
            raise RuntimeError("packed twice")
        object.__setattr__(self, "packed", True)
        return super().pack()


class HalfPrecision(Own):
    """It packs an array of a type that NumPy lacks."""

    def pack(self) -> Mapping[str, Any]:
        return {"centre": self.centre.bfloat16()}


class OddNames(Own):
    """It packs an array under a number."""

    def pack(self) -> Mapping[Any, Any]:
        return {1: self.centre}

    @classmethod
    def unpack(cls, arrays: Mapping[Any, Tensor]) -> "Own":
        return cls(arrays[1])


class Broken(Own):
    """Its variance has a fault."""

    @property
    def variance(self) -> Tensor:
        return self.centre / "2"


class Doubled(Own):
    """It has only a mean, of two outputs."""

    @property
    def mean(self) -> Tensor:
        return self.centre.expand(-1, 2)


class Late(Own):
    """Its density and its cdf have a fault, and no metric of the suite uses them."""

    @property
    def variance(self) -> Tensor:
        return torch.ones_like(self.centre)

    def log_prob(self, target: Tensor) -> Tensor:
        return self.centre / "2"

    cdf = log_prob


class Flat(Own):
    """Its log density has a value for each point and output."""

    def log_prob(self, target: Tensor) -> Tensor:
        return torch.zeros(len(self), 2)


def raising(error: BaseException) -> Callable[..., Any]:
    def raise_it(*_: object) -> Any:
        raise error

    return raise_it


def zeros(inputs: Tensor, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.zeros(len(inputs), 1, dtype=dtype)


POSTERIORS: dict[str, Callable[[], Any]] = {
    "gradient": lambda: Saying(
        lambda x: GaussianPredictive(
            torch.zeros(3, len(x), 1, requires_grad=True), torch.ones(3, len(x), 1)
        )
    ),
    "own gradient": lambda: Saying(lambda x: WithGradient(zeros(x))),
    "diagnostics with a gradient": lambda: Saying(
        gaussian, lambda: {"loss": torch.ones(1, requires_grad=True)}
    ),
    "odd key": lambda: Saying(gaussian, lambda: {"loss": 1.0, 1: 2.0}),
    "odd value": lambda: Saying(gaussian, lambda: {"loss": "large"}),
    "no mapping": lambda: Saying(gaussian, lambda: ["loss"]),
    "mute in fit": raising(Mute()),
    "mute in predict": lambda: Saying(raising(Mute())),
    "mute divergence": raising(MuteDivergence()),
    "mute refusal": lambda: Saying(raising(MuteRefusal())),
    "surrogates": raising(RuntimeError("half a character: \udc80")),
    "wordless divergence": raising(InferenceDiverged("\n")),
    "long": raising(RuntimeError("x" * 5_000_000)),
    "beyond": raising(Beyond("out of reach")),
    "exits": raising(SystemExit(0)),
    "packed twice": lambda: Saying(lambda x: PackedTwice(zeros(x))),
    "bfloat16": lambda: Saying(lambda x: HalfPrecision(zeros(x))),
    "odd names": lambda: Saying(lambda x: OddNames(zeros(x))),
    "broken variance": lambda: Saying(lambda x: Broken(zeros(x))),
    "two means": lambda: Saying(lambda x: Doubled(zeros(x))),
    "flat density": lambda: Saying(lambda x: Flat(zeros(x))),
    "two outputs": lambda: Saying(lambda x: gaussian(x, outputs=2)),
    "no draws": lambda: Saying(
        lambda x: GaussianPredictive(torch.zeros(len(x), 1), torch.ones(len(x), 1))
    ),
    "complex": lambda: Saying(
        lambda x: GaussianPredictive(
            torch.zeros(3, len(x), 1, dtype=torch.complex64), torch.ones(3, len(x), 1)
        )
    ),
    "integers": lambda: Saying(
        lambda x: GaussianPredictive(
            torch.zeros(3, len(x), 1, dtype=torch.long), torch.ones(3, len(x), 1)
        )
    ),
    "own complex": lambda: Saying(lambda x: Own(zeros(x, torch.complex64))),
    "arrays": lambda: Saying(
        lambda x: GaussianPredictive(np.zeros((3, len(x), 1)), np.ones((3, len(x), 1)))  # pyright: ignore
    ),
    "no tensor": lambda: Saying(lambda x: "nothing".means),  # pyright: ignore
    "late": lambda: Saying(lambda x: Late(zeros(x))),
    "infinite": lambda: Saying(lambda x: gaussian(x, torch.inf)),
    "infinite own": lambda: Saying(lambda x: Own(zeros(x) + torch.inf)),
    "overflow": lambda: Saying(lambda x: Own(zeros(x, torch.float64) + 1e200)),
    "large": lambda: Saying(lambda x: gaussian(x, 1e12)),
    "absurd": lambda: Saying(lambda x: gaussian(x, 3e38)),
    "mute posterior": lambda: Mute(),
}


@dataclass(frozen=True)
class Slip:
    """A method with one fault, by name."""

    name: str

    def fit(self, problem: Any, rng: torch.Generator) -> Any:
        return POSTERIORS[self.name]()


@dataclass(frozen=True)
class Sometimes:
    """Raises on some folds."""

    def fit(self, problem: Any, rng: torch.Generator) -> Any:
        if problem.train.inputs[0, 0] < 0.5:
            raise RuntimeError("below 0.5")
        return fitted(problem, rng)


@dataclass(frozen=True)
class Last:
    """Predicts as `Mean` does, and comes after all faulty methods."""

    def fit(self, problem: Any, rng: torch.Generator) -> Any:
        return fitted(problem, rng)


METRICS = ("rmse", "log_likelihood", "crps", "picp_90", "sharpness")
SOUND = Suite(
    name="slips",
    title="Slips",
    profile="quick",
    cases=(Case(Line(), ()),),
    methods={"First": Mean(), "Last": Last()},
    evaluations=(Evaluation(Clean(), METRICS),),
)


def around(method: Any, **changes: Any) -> Suite:
    """Return the suite with another method between its two valid ones."""
    methods = {"First": Mean(), "Slip": method, "Last": Last()}
    return replace(SOUND, methods=methods, **changes)
