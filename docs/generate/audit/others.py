"""Comparison of Gaussian processes, ridge, dropout, ensembles and conformal sets with libraries."""

import itertools
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np
import torch
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process import kernels as sklearn_kernels
from sklearn.linear_model import BayesianRidge

from bnnbench.datasets.base import Gaussian
from bnnbench.methods.adamw import AdamW
from bnnbench.methods.base import Problem
from bnnbench.methods.ensemble import Ensemble
from bnnbench.methods.exact_linear_regression.method import ExactLinear
from bnnbench.methods.gp.exact import GaussianProcess
from bnnbench.methods.gp.package import import_gpytorch
from bnnbench.methods.mc_dropout import McDropout
from bnnbench.methods.networks.architectures import Dropout, Linear, ReLU
from bnnbench.methods.post_hoc import scores
from bnnbench.methods.post_hoc.conformal import quantile_of_scores
from bnnbench.methods.predictions.predictive import CategoricalPredictive, GaussianPredictive
from bnnbench.suites.check.problems import classification, regression, stream
from docs.generate.audit.comparison import Answers, Comparison, ask, by_draws, equal, with_errors

kernels: Any = sklearn_kernels
DRAWS, RATE, LEVEL = 20_000, 0.3, 0.85
CALIBRATED, TESTED = 200, 20_000


def points() -> torch.Tensor:
    """Return test inputs."""
    return 1.5 * torch.randn(30, 4, generator=stream(5), dtype=torch.float64)


def of_gaussian_processes() -> Iterator[Comparison]:
    """Compare the process with scikit-learn, gpytorch and the formula, for one kernel."""
    problem = regression(rows=50, dtype=torch.float64)
    posterior: Any = GaussianProcess(kernels=("rbf",)).fit(problem, stream(1))
    found = posterior.predict(points(), stream(2))
    own = found.means[0, :, 0].numpy(), found.variances[0, :, 0].numpy()
    kernel, noise = posterior.process.kernel_, posterior.noise_variance
    rows, targets = problem.train.inputs.numpy(), problem.train.targets.numpy()[:, 0]
    signal, lengths = float(kernel.k1.constant_value), np.asarray(kernel.k2.length_scale)
    regressor: Any = GaussianProcessRegressor
    plain = regressor(kernel + kernels.WhiteKernel(noise), alpha=0, optimizer=None)
    mean, std = plain.fit(rows, targets).predict(points().numpy(), return_std=True)
    answers = {
        ("scikit-learn", version("scikit-learn")): (mean, std**2),
        ("gpytorch", version("gpytorch")): _by_gpytorch(rows, targets, signal, lengths, noise),
        ("closed form", ""): _by_formula(rows, targets, signal, lengths, noise),
    }
    for (library, which), theirs in answers.items():
        for name, a, b in zip(("mean", "variance"), own, theirs, strict=True):
            yield equal(library, which, "Gaussian process", f"{name} by one kernel", a, b)


def _by_formula(
    rows: np.ndarray, targets: np.ndarray, signal: float, lengths: np.ndarray, noise: float
) -> tuple[np.ndarray, np.ndarray]:
    def covariance(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return signal * np.exp(-(((a[:, None] - b[None]) / lengths) ** 2).sum(-1) / 2)

    inverse = np.linalg.inv(covariance(rows, rows) + noise * np.eye(len(rows)))
    cross = covariance(points().numpy(), rows)
    return cross @ inverse @ targets, signal + noise - ((cross @ inverse) * cross).sum(1)


def _by_gpytorch(
    rows: np.ndarray, targets: np.ndarray, signal: float, lengths: np.ndarray, noise: float
) -> tuple[np.ndarray, np.ndarray]:
    gpytorch: Any = import_gpytorch()

    class Model(gpytorch.models.ExactGP):
        def __init__(self, likelihood: Any) -> None:
            super().__init__(torch.from_numpy(rows), torch.from_numpy(targets), likelihood)
            rbf = gpytorch.kernels.RBFKernel(ard_num_dims=rows.shape[1])
            self.mean_module = gpytorch.means.ZeroMean()
            self.covar_module = gpytorch.kernels.ScaleKernel(rbf)

        def forward(self, x: Any) -> Any:
            return gpytorch.distributions.MultivariateNormal(
                self.mean_module(x), self.covar_module(x)
            )

    likelihood = gpytorch.likelihoods.GaussianLikelihood().double()
    model = Model(likelihood).double()
    model.covar_module.outputscale = torch.tensor(signal, dtype=torch.float64)
    model.covar_module.base_kernel.lengthscale = torch.from_numpy(lengths)
    likelihood.noise = torch.tensor(noise, dtype=torch.float64)
    model.eval()
    likelihood.eval()
    with (
        torch.no_grad(),
        warnings.catch_warnings(),
        gpytorch.settings.fast_computations(False, False, False),
    ):
        warnings.simplefilter("ignore")
        found = likelihood(model(points()))
    return found.mean.numpy(), found.variance.numpy()


def of_ridge() -> Iterator[Comparison]:
    """Compare the exact linear posterior with scikit-learn's, at the precisions that it learned."""
    problem = regression(rows=40, architecture=(Linear(1, bias=False),), dtype=torch.float64)
    ridge: Any = BayesianRidge(fit_intercept=False, tol=1e-12, max_iter=10_000)
    ridge.fit(problem.train.inputs.numpy(), problem.train.targets.numpy()[:, 0])
    mean, std = ridge.predict(points().numpy(), return_std=True)
    known = Problem(problem.train, Gaussian(float(ridge.alpha_) ** -0.5), problem.architecture)
    posterior = ExactLinear(prior_std=float(ridge.lambda_) ** -0.5).fit(known, stream(1))
    found: Any = posterior.predict(points(), stream(2))
    same = "scikit-learn", version("scikit-learn"), "Bayesian ridge and exact linear"
    yield equal(*same, "mean", found.mean[:, 0], mean)
    yield equal(*same, "variance", found.variance[:, 0], std**2)


def of_dropout() -> Iterator[Comparison]:
    """Compare dropout with the sum over all masks, and an ensemble with the library's."""
    network = (Linear(7), ReLU(), Linear(3))
    problem = classification(rows=60, architecture=network, dtype=torch.float64)
    training = AdamW(learning_rate=3e-2, epochs=100)
    posterior: Any = McDropout(rate=RATE, draws=DRAWS, training=training).fit(problem, stream(1))
    members: Any = Ensemble(4, training).fit(problem, stream(2))
    weights = posterior.trained.weights[0]
    here = points()[:8]
    found = ask(
        *("torch-uncertainty", "dropout_masks"),
        {
            **{"inputs": problem.train.inputs, "targets": problem.train.targets},
            **{"weights": weights, "points": here},
            "members": torch.stack([each.weights[0] for each in members.members]),
        },
        *((Linear(7), ReLU(), Dropout(RATE), Linear(3)), 3),
        draws=DRAWS,
    )
    exact = _over_all_masks(weights, here)
    nothing = np.zeros_like(exact)
    own = posterior.predict(here, stream(3)).log_probs.exp().numpy()
    method, text = "MC dropout", "probabilities, against all masks"
    yield by_draws("enumeration", "", method, f"ours: {text}", with_errors(own), (exact, nothing))
    same = "torch-uncertainty", found.version
    their = with_errors(found.arrays["dropout"])
    yield by_draws(*same, method, text, (exact, nothing), their)
    mixture = members.predict(here, stream(4)).mixture_log_probs.exp()
    text = "probabilities of equal members"
    yield equal(*same, "Deep ensemble", text, mixture, found.arrays["ensemble"])


def _over_all_masks(weights: torch.Tensor, here: torch.Tensor) -> np.ndarray:
    """Return the mean probabilities over all masks of seven units, weighted by mask probability."""
    first, bias, second, last = (
        part.view(shape)
        for part, shape in zip(
            weights.split([28, 7, 21, 3]), ((7, 4), (7,), (3, 7), (3,)), strict=True
        )
    )
    hidden = (here @ first.mT + bias).relu()
    total = torch.zeros(len(here), 3, dtype=torch.float64)
    for mask in itertools.product((0.0, 1.0), repeat=7):
        kept = torch.tensor(mask, dtype=torch.float64)
        probability = RATE ** float(7 - kept.sum()) * (1 - RATE) ** float(kept.sum())
        logits = (hidden * kept / (1 - RATE)) @ second.mT + last
        total += probability * logits.softmax(-1)
    return total.numpy()


@dataclass(frozen=True)
class Conformal:
    """Probabilities with labels drawn from them, and real predictions with targets."""

    probs: np.ndarray
    labels: np.ndarray
    means: np.ndarray
    targets: np.ndarray

    @classmethod
    def drawn(cls) -> "Conformal":
        """Return rows; the first 200 set the thresholds."""
        rng = np.random.default_rng(3)
        logits = 2 * rng.standard_normal((TESTED + CALIBRATED, 5))
        probs = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
        labels = (probs.cumsum(1) < rng.random((len(probs), 1))).sum(1).clip(max=4)
        means = rng.standard_normal((400, 1))
        return cls(probs, labels, means, means[:, 0] + rng.standard_normal(400))

    def theirs(self) -> Answers:
        """Return MAPIE's results for these rows."""
        cut = CALIBRATED
        arrays = {
            **{"calibration": self.probs[:cut], "labels": self.labels[:cut]},
            **{"test": self.probs[cut:], "means": self.means[:cut]},
            **{"targets": self.targets[:cut], "test_means": self.means[cut:]},
        }
        tensors = {name: torch.from_numpy(values) for name, values in arrays.items()}
        return ask("mapie", "mapie_sets", tensors, level=LEVEL)

    def sets(self, name: scores.ClassScore) -> torch.Tensor:
        """Return our sets for the rows that set no threshold."""
        before, after = (
            CategoricalPredictive(torch.from_numpy(part).log()[None])
            for part in (self.probs[:CALIBRATED], self.probs[CALIBRATED:])
        )
        labels = torch.from_numpy(self.labels[:CALIBRATED])[:, None]
        found = scores.of_classes(name, before).gather(1, labels)
        return (scores.of_classes(name, after) <= quantile_of_scores(found, LEVEL)).double()

    def intervals(self) -> torch.Tensor:
        """Return our intervals around the means that set no threshold."""
        before, after = (
            GaussianPredictive(torch.from_numpy(m)[None], torch.ones(1, len(m), 1).double())
            for m in (self.means[:CALIBRATED], self.means[CALIBRATED:])
        )
        targets = torch.from_numpy(self.targets[:CALIBRATED])[:, None]
        found = scores.of_targets("residuals", before, targets, LEVEL)
        ends = scores.interval("residuals", after, LEVEL, quantile_of_scores(found, LEVEL))
        return torch.cat(ends, 1)


def of_conformal_sets() -> Iterator[Comparison]:
    """Compare conformal sets and intervals with MAPIE's for the same predictions."""
    rows = Conformal.drawn()
    found = rows.theirs()
    same = "mapie", found.version, "Split conformal"
    pairs: tuple[tuple[str, scores.ClassScore, str], ...]
    pairs = (("lac", "probability", "rounding"), ("aps", "aps", "definition"))
    for theirs, name, kind in pairs:
        own = rows.sets(name).mean(1)
        their = found.arrays[theirs].mean(1)
        yield equal(*same, f"sizes of sets, score {name} ({theirs})", own, their, kind)
    yield equal(*same, "intervals by residuals", rows.intervals(), found.arrays["intervals"])


def sets_of_aps() -> dict[str, tuple[float, float]]:
    """Return coverage and mean size of both libraries' sets, with standard errors over rows."""
    rows = Conformal.drawn()
    labels, summary = rows.labels[CALIBRATED:], {}
    for name, sets in (("ours", rows.sets("aps").numpy()), ("mapie", rows.theirs().arrays["aps"])):
        hits, sizes = np.take_along_axis(sets, labels[:, None], 1)[:, 0], sets.sum(1)
        for what, values in (("coverage", hits), ("size", sizes), ("empty", sizes == 0)):
            error = float(values.std(ddof=1) / len(values) ** 0.5)
            summary[f"{name}: {what}"] = float(values.mean()), error
    return summary
