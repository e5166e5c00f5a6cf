"""Variational training and prediction of all Gaussian processes."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from bnnbench.datasets.base import Gaussian
from bnnbench.methods.base import InferenceDiverged, Problem, Unsupported
from bnnbench.methods.checkpoints import checkpoint
from bnnbench.methods.fitting import progress, work
from bnnbench.methods.fitting.minibatches import Minibatches, require_unaugmented
from bnnbench.methods.fitting.network_posterior import POINTS_AT_ONCE
from bnnbench.methods.fitting.randomness import normal
from bnnbench.methods.fitting.training import Schedule, check_descent, learning_rate_factor
from bnnbench.methods.gp.package import import_gpytorch
from bnnbench.methods.predictions.marginals import MarginalGaussian
from bnnbench.methods.tuning.space import Log, Space


@dataclass(frozen=True)
class GpTraining:
    """Adam on the evidence lower bound: inducing points and values, kernel, noise, features."""

    space: ClassVar[Space] = Space(
        {"learning_rate": Log(1e-3, 0.2)}, length="epochs", lengths=(5, 10, 20, 40, 80)
    )

    learning_rate: float = 1e-2
    epochs: int = 100
    batch_size: int = 128
    schedule: Schedule = "cosine"

    def __post_init__(self) -> None:
        check_descent(self)

    def __call__(self, model: Any, problem: Problem, rng: torch.Generator, samples: int) -> None:
        """Train a `GpRegression`, with `samples` draws of hidden processes per row.

        Raises `InferenceDiverged` if the trained parameters are not finite.
        """
        batches = Minibatches([problem], [rng], self.batch_size)
        moved = [parameter for parameter in model.parameters() if parameter.requires_grad]
        optimiser = torch.optim.Adam(moved, lr=self.learning_rate)
        model.train()
        for epoch in checkpoint.epochs(self.epochs, rng, optimiser):
            factor = learning_rate_factor(self.schedule, epoch, self.epochs)
            optimiser.param_groups[0]["lr"] = self.learning_rate * factor
            total = 0.0
            for inputs, targets in batches.epoch():
                x, y = inputs[0].double(), targets[0, :, 0].double()
                standard = _standard(rng, samples, len(x), model.hidden)
                with deterministic():
                    loss = model.loss(x, y, standard, batches.rows)
                    optimiser.zero_grad()
                    loss.backward()
                optimiser.step()
                total += float(loss.detach())
                work.count("gradient_rows", len(x) * samples)
            progress.report(epoch + 1, self.epochs, total / len(batches))
        if not all(parameter.isfinite().all() for parameter in moved):
            raise InferenceDiverged("the fit is no longer finite")
        model.eval()


@dataclass(frozen=True)
class GpPosterior:
    """Trained processes; hidden processes are drawn when predicting.

    In a draw, a hidden process deviates from its mean by the same number of standard deviations
    at every point: the distribution at each point is right, the joint distribution of points is
    not.
    """

    model: Any
    draws: int

    @property
    def diagnostics(self) -> dict[str, float]:
        """Diagnostics of the fit."""
        return {"noise_std": self.model.noise_variance() ** 0.5}

    @torch.no_grad()
    def predict(
        self, inputs: Float[Tensor, "points features"], rng: torch.Generator
    ) -> MarginalGaussian:
        """Return one Gaussian per point and draw; without hidden processes there is one draw."""
        standard = _standard(rng, self.draws, 1, self.model.hidden)
        means, variances = [], []
        for points in inputs.split(POINTS_AT_ONCE):
            with deterministic():
                mean, variance = self.model.latent(points.double(), standard)
            means.append(mean.unsqueeze(2))
            variances.append(variance.unsqueeze(2) + self.model.noise_variance())
        return MarginalGaussian(torch.cat(means, 1), torch.cat(variances, 1))


def require_single_target(problem: Problem, method: object) -> float | None:
    """Return the noise's standard deviation, if known; raises `Unsupported` for other problems."""
    likelihood, train = problem.likelihood, problem.train
    name = type(method).__name__
    if not isinstance(likelihood, Gaussian) or train.targets.shape[1] != 1:
        raise Unsupported(f"{name} needed a regression of one target; got {likelihood}")
    if train.inputs.dim() != 2:
        raise Unsupported(f"{name} needed vectors as inputs; got images")
    if not train.inputs.isfinite().all():
        raise InferenceDiverged("inputs are not finite")
    require_unaugmented([problem], method)
    return likelihood.noise_std


def random_rows(
    problem: Problem, count: int, rng: torch.Generator
) -> Float[Tensor, "some features"]:
    """Return distinct training inputs in float64, drawn at random; all of them if fewer."""
    inputs = problem.train.inputs
    order = torch.randperm(len(inputs), generator=rng, device=inputs.device)
    return inputs[order[:count]].double()


@contextmanager
def deterministic() -> Iterator[None]:
    """Use direct linear algebra inside the block: no random probes and no hidden jitter."""
    gpytorch = import_gpytorch()
    errors = gpytorch.linear_operator.utils.errors
    jitter = gpytorch.linear_operator.utils.warnings.NumericalWarning
    direct = gpytorch.settings.fast_computations(False, False, False)
    try:
        with direct, warnings.catch_warnings():
            warnings.simplefilter("error", jitter)
            yield
    except (errors.NotPSDError, errors.NanError, jitter) as failure:
        raise InferenceDiverged(f"a covariance is not positive definite: {failure}") from failure


def _standard(rng: torch.Generator, draws: int, points: int, hidden: int) -> Tensor | None:
    if not hidden:
        return None
    return normal([rng], draws, points, hidden, dtype=torch.float64)[0]
