r"""CIBER: collapsed inference by exact integrals over a box of weights.

The iterates of SGD are samples of all weights except a few, which are uniform on a box that the
iterates span. The Gaussian likelihood becomes triangular, and the integral over the box is exact.

Source: seed paper 002, and its public code where that differs (`reference`).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal, get_args

import torch
from torch import Tensor

from bnnbench.datasets.base import Categorical, Split
from bnnbench.methods.base import InferenceDiverged, Posterior, PriorUse, Problem, Unsupported
from bnnbench.methods.card import Card
from bnnbench.methods.ciber.boxes import Bounds
from bnnbench.methods.ciber.classes import ClassWeights, require_few_classes
from bnnbench.methods.ciber.collapse import Collapse, LastLayer, SecondLayer
from bnnbench.methods.ciber.fit import Fit
from bnnbench.methods.ciber.posterior import CollapsedPosterior, Prediction
from bnnbench.methods.ciber.samples import require_layers
from bnnbench.methods.fitting.settings import (
    LATER,
    require_between,
    require_choice,
    require_count,
    require_positive,
)
from bnnbench.methods.fitting.validation_search import set_aside
from bnnbench.methods.integration import sums
from bnnbench.methods.trajectory.collector import Descending, Descent, collect, require_iterates
from bnnbench.methods.trajectory.schedules import HighThenLow, Plateau
from bnnbench.methods.tuning.space import Space, compose

NEAREST = 2.297003764578613
"""Ratio r/σ of the triangle nearest to a Gaussian in L2."""
EQUAL_VARIANCE = math.sqrt(6)
MARGIN = 1e-3
FloorRange = Literal["training", "scored"]


@dataclass(frozen=True)
class Ciber(Descending):
    """Collapsed inference with the iterates of a descent.

    A regression's density has a compact support: `epsilons` are the heights of an added constant
    density; held-out training rows choose among several. It covers the range of the training
    targets, extended by three standard deviations on both sides. With `floor_range` "scored", it
    covers the range of the scored targets, as in the paper's code, which thereby reveals this
    range to the prediction.
    """

    card: ClassVar[Card] = Card("trajectories")
    prior_use: ClassVar[PriorUse] = "none"
    of_predictions: ClassVar = (
        *("collapse", "classes", "bounds", "ratio"),
        *("floor_range", "prediction"),
    )

    training: Descent = field(default_factory=lambda: Descent(schedule=HighThenLow()))
    samples: int | None = 40
    """Number of last iterates; None: all that are stored."""
    collapse: Collapse = LastLayer()
    classes: ClassWeights = ClassWeights()
    """The weights that a classifier collapses, and their integral."""
    bounds: Bounds = "moment"
    ratio: float = EQUAL_VARIANCE
    """Half the base of the triangular noise, in standard deviations of the Gaussian."""
    epsilons: tuple[float, ...] = (1e-4, 1e-3, 1e-2, 1e-1)
    """Floors of the density, in inverse standard deviations of the target; 0 for no floor."""
    floor_range: FloorRange = "training"
    """Range of the density's floor: training targets, or scored targets."""
    validation_share: float = 1 / 9
    """Share of training rows held out to choose among several epsilons."""
    prediction: Prediction = field(default="box", metadata=LATER)
    """Integrals over the box (box), the same without a box (no_box), or the samples' own Gaussians
    (iterates), for comparison; all share one fit.
    """

    def __post_init__(self) -> None:
        require_iterates(self, self.training, 2)
        if self.samples is not None:
            require_count(self, "samples", least=2)
        require_choice(self, "bounds", get_args(Bounds))
        require_choice(self, "floor_range", get_args(FloorRange))
        require_choice(self, "prediction", get_args(Prediction))
        require_positive(self, "ratio", "validation_share")
        require_between(self, 0.0, 1.0, "validation_share")
        if not self.epsilons or not all(0 <= e < math.inf for e in self.epsilons):
            raise ValueError(f"Ciber needs finite epsilons of at least 0; got {self.epsilons}")

    @property
    def space(self) -> Space:
        """The search space, beginning with the wrapped training's."""
        return compose("training", self.training.space)

    def warm_up(self, problem: Problem) -> None:
        """Compile the integrals over boxes."""
        sums.warm_up(problem.train.inputs.device)

    def fit_stack(
        self, problems: Sequence[Problem], rngs: Sequence[torch.Generator]
    ) -> list[Posterior | InferenceDiverged]:
        """Return the posterior of each problem."""
        self._require(problems[0])
        fitted, validation = self._parts(problems, rngs)
        trajectory = collect(fitted, rngs, self.training, self.samples)
        stack, weights = trajectory.stack, trajectory.samples
        finite = weights.isfinite().flatten(1).all(1).tolist()
        posteriors: list[Posterior | InferenceDiverged] = []
        for m, (problem, rows) in enumerate(zip(problems, validation, strict=True)):
            if not finite[m]:
                posteriors.append(InferenceDiverged("the iterates are no longer finite"))
                continue
            last = stack.posterior(m)
            details = last.diagnostics | {"samples": float(weights.shape[1])}
            iterates = replace(
                last, weights=weights[m], buffers=trajectory.buffers[m], diagnostics=details
            )
            posteriors.append(self._posterior(Fit(iterates, problem, rows)))
        return stack.outcomes(posteriors, weights.flatten(1))

    def from_fit(self, posterior: Posterior) -> Posterior:
        """Return the posterior of a fit that differs only in its box and prediction.

        Raises `Unsupported` if the problem does not allow that box.
        """
        assert isinstance(posterior, CollapsedPosterior)
        assert posterior.fit
        self._require(posterior.fit.problem)
        return self._posterior(posterior.fit)

    def _require(self, problem: Problem) -> None:
        """Raise `Unsupported` unless the problem allows this prediction."""
        require_layers(problem, isinstance(self.collapse, SecondLayer))
        if not isinstance(problem.likelihood, Categorical):
            return
        require_few_classes(self.classes, problem.likelihood.classes)
        if self.prediction == "no_box":
            raise Unsupported(
                "needed a regression to predict without a box; got classes: use "
                'prediction="iterates"'
            )

    def _parts(
        self, problems: Sequence[Problem], rngs: Sequence[torch.Generator]
    ) -> tuple[Sequence[Problem], list[Split | None]]:
        """Return the problems to fit, and each problem's rows for choosing epsilon."""
        if isinstance(problems[0].likelihood, Categorical) or len(self.epsilons) == 1:
            return problems, [None] * len(problems)
        schedule = self.training.schedule
        if isinstance(schedule, Plateau):
            # The descent will hold out the same rows, as its stream starts in the same state.
            share = schedule.validation_share
            return problems, [
                set_aside(p, share, _twin(rng))[1] for p, rng in zip(problems, rngs, strict=True)
            ]
        parts = [
            set_aside(p, self.validation_share, rng) for p, rng in zip(problems, rngs, strict=True)
        ]
        return [rest for rest, _ in parts], [rows for _, rows in parts]

    def _posterior(self, fit: Fit) -> CollapsedPosterior:
        samples, details = fit.samples(self.bounds), fit.iterates.diagnostics
        if self.prediction == "box":
            details = details | {"mean_box_width": float(samples.box.width.mean())}
        posterior = CollapsedPosterior(
            samples,
            self.collapse,
            self.classes,
            self.ratio,
            diagnostics=details,
            prediction=self.prediction,
            fit=fit,
        )
        if isinstance(samples.likelihood, Categorical) or self.prediction == "iterates":
            return posterior
        low, high, margin = self._floor_range(fit.problem.train.targets)
        floors = [(epsilon, low, high, margin) for epsilon in self.epsilons]
        if fit.validation is None:
            return replace(posterior, floor=floors[0])
        floor, diagnostics = _best_floor(posterior, floors, fit.validation)
        return replace(posterior, floor=floor, diagnostics=details | diagnostics)

    def _floor_range(self, targets: Tensor) -> tuple[float, float, float]:
        if self.floor_range == "scored":
            return -math.inf, math.inf, MARGIN
        reach = 3 * float(targets.std(correction=0))
        return float(targets.min()) - reach, float(targets.max()) + reach, 0.0


@torch.no_grad()
def _best_floor(
    posterior: CollapsedPosterior, floors: list[tuple[float, float, float, float]], rows: Split
) -> tuple[tuple[float, float, float, float], dict[str, float]]:
    """Return the floor with the best likelihood on held-out rows, and its diagnostics."""
    plain = posterior.without_floor(rows.inputs)
    likelihoods = [
        float(plain.with_floor(*floor).log_prob(rows.targets).mean()) for floor in floors
    ]
    best = max(range(len(floors)), key=lambda i: likelihoods[i])
    outside = (plain.density(rows.targets) <= 0).double().mean()
    details = {"epsilon": floors[best][0], "validation_zero_density": float(outside)}
    if math.isfinite(likelihoods[best]):
        details["validation_log_likelihood"] = likelihoods[best]
    return floors[best], details


def _twin(rng: torch.Generator) -> torch.Generator:
    twin = torch.Generator(rng.device)
    twin.set_state(rng.get_state())
    return twin


PAPER_LAST = Ciber(
    bounds="minmax", ratio=NEAREST, epsilons=(0.0,), classes=ClassWeights("cubic")
)  # fmt: skip
"""As in the paper's text, which gives no floor: the density is 0 beyond its support."""
PAPER_SECOND = replace(PAPER_LAST, collapse=SecondLayer())
REFERENCE_LAST = Ciber(
    bounds="minmax", ratio=2.45, floor_range="scored", epsilons=(0.0, 1e-4, 1e-3, 1e-2, 1e-1),
    collapse=LastLayer(2), classes=ClassWeights(normalised=False),
)  # fmt: skip
"""As in the paper's code; the epsilon behind the printed numbers is not stated."""
REFERENCE_SECOND = replace(REFERENCE_LAST, collapse=SecondLayer(2, unit=0))
CLEAN_LAST = Ciber()
CLEAN_SECOND = replace(CLEAN_LAST, collapse=SecondLayer())

VARIANTS = {
    "paper": {"last": PAPER_LAST, "second": PAPER_SECOND},
    "reference": {"last": REFERENCE_LAST, "second": REFERENCE_SECOND},
    "clean": {"last": CLEAN_LAST, "second": CLEAN_SECOND},
}
"""Methods by variant and collapsed layer, with the default descent."""
