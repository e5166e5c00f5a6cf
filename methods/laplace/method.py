r"""Laplace's approximation: a Gaussian at a trained network's weights.

Its covariance is $T (\beta H + \delta I)^{-1}$, where H is the Gauss-Newton matrix or an
approximation of it, β the precision of a regression's noise, δ the precision of the prior and T a
temperature. The network is trained first, by any method, and then fixed; δ and β are chosen
afterwards.

Sources: MacKay (1992), "A Practical Bayesian Framework for Backpropagation Networks"; Daxberger
et al. (2021), "Laplace Redux: Effortless Bayesian Deep Learning".
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, get_args

import torch
from jaxtyping import Float
from torch import Tensor

from bnnbench.datasets.base import Categorical, Gaussian, Split
from bnnbench.methods.adamw import AdamW
from bnnbench.methods.base import (
    BatchedMethod,
    InferenceDiverged,
    Posterior,
    PriorUse,
    Problem,
    Unsupported,
)
from bnnbench.methods.card import Card
from bnnbench.methods.fitting import work
from bnnbench.methods.fitting.batched import Batched
from bnnbench.methods.fitting.network_posterior import NetworkPosterior, outputs
from bnnbench.methods.fitting.randomness import normal
from bnnbench.methods.fitting.settings import (
    LATER,
    require_between,
    require_choice,
    require_count,
    require_positive,
)
from bnnbench.methods.fitting.validation_search import set_aside
from bnnbench.methods.laplace.evidence import Evidence, Precisions, maximise_evidence
from bnnbench.methods.laplace.gauss_newton import Spectrum, Structure
from bnnbench.methods.laplace.kfac import Kfac
from bnnbench.methods.laplace.likelihood import misfit
from bnnbench.methods.laplace.linearised import LinearisedPosterior
from bnnbench.methods.networks.torch_network import TorchNetwork
from bnnbench.methods.trajectory.running_statistics import recomputed
from bnnbench.methods.tuning.space import Log, Single, Space, compose, space_of

Prediction = Literal["glm", "glm_mc", "mc"]
"""`glm`: the network linearised in its weights, in closed form (probits for a classifier).
`glm_mc`: the same, with draws for a classifier. `mc`: the network itself, with draws."""
Prior = Literal["own", "given"]
STATISTICS_BATCH = 128


@dataclass(frozen=True)
class Laplace(Batched):
    """A point estimate and the curvature around it.

    Scales and offsets of norms stay at the point estimate. In a network with BatchNorm, each draw
    has separate running statistics.
    """

    card: ClassVar[Card] = Card("Laplace")

    training: BatchedMethod = field(default_factory=AdamW)
    structure: Structure = Kfac()
    """Approximation of the curvature."""
    prior_precisions: tuple[float, ...] = ()
    """Candidates; if there are several, held-out rows choose one. If there are none, the precision
    maximises the evidence, as does a regression's noise, which otherwise is the training's."""
    prediction: Prediction = "glm"
    """Linearised outputs in closed form (glm) or by draws (glm_mc), or draws of weights (mc)."""
    draws: int = 30
    temperature: float = 1.0
    validation_share: float = 0.1
    """Share of training rows held out if there are several precisions and no calibration rows."""
    prior: Prior = field(default="own", metadata=LATER)
    """"given": the problem's prior if it states one, also in the training if that reads it."""

    def __post_init__(self) -> None:
        require_choice(self, "prediction", get_args(Prediction))
        require_choice(self, "prior", get_args(Prior))
        require_count(self, "draws")
        require_positive(self, "temperature", "validation_share")
        require_between(self, 0.0, 1.0, "validation_share")
        if not all(0 < precision < math.inf for precision in self.prior_precisions):
            raise ValueError(
                "Laplace needs prior_precisions to be positive and finite; got "
                f"{self.prior_precisions}"
            )

    @property
    def prior_use(self) -> PriorUse:
        """The method's own prior, or the problem's unless the posterior is a cold one."""
        return "given" if self.prior == "given" and self.temperature == 1 else "own"

    @property
    def space(self) -> Space:
        """The search space: the training's, and the prior's unless the evidence chooses it.

        Draws of weights predict with the training's noise; the linearised network adds to it.
        """
        chosen = {"prior_precisions": Single(Log(1e-2, 1e4))} if self.prior_precisions else {}
        prior = Space(chosen, learned_noise=bool(chosen) and self.prediction == "mc")
        return compose("training", space_of(self.training), prior)

    def fit_many(
        self, problems: Sequence[Problem], rngs: Sequence[torch.Generator]
    ) -> list[Posterior | InferenceDiverged]:
        """Return the posterior of each problem; point estimates are trained side by side."""
        first = problems[0]
        self.structure.recorder(TorchNetwork(first.architecture, first.input_shape))
        choices, modes = self._choices(problems, rngs)
        modes = modes or self.training.fit_many(problems, rngs)
        return [
            _outcome(self._posterior, *arguments)
            for arguments in zip(modes, choices, problems, rngs, strict=True)
        ]

    def _choices(
        self, problems: Sequence[Problem], rngs: Sequence[torch.Generator]
    ) -> "tuple[list[float | InferenceDiverged | None], list[Posterior | InferenceDiverged]]":
        """Return the prior precision of each problem, None if the evidence chooses it.

        If calibration rows choose it, the point estimates by all training rows are returned, too;
        otherwise their list is empty.
        """
        if self._scales(problems[0]) is not None:
            return [1.0] * len(problems), []
        if len(self.prior_precisions) < 2:
            return [next(iter(self.prior_precisions), None)] * len(problems), []
        parts = [
            set_aside(problem, self.validation_share, rng)
            for problem, rng in zip(problems, rngs, strict=True)
        ]
        rest = [problem for problem, _ in parts]
        modes = self.training.fit_many(rest, rngs)
        choices = [
            _outcome(self._validated, mode, problem, validation, rng)
            for mode, problem, (_, validation), rng in zip(modes, rest, parts, rngs, strict=True)
        ]
        calibrated = all(problem.calibration is not None for problem in problems)
        return choices, modes if calibrated else []

    def _scales(self, problem: Problem) -> Tensor | None:
        """Return the given prior's standard deviation of every weight."""
        return problem.prior_stds if self.prior == "given" else None

    def _validated(
        self, mode: Posterior, problem: Problem, validation: Split, rng: torch.Generator
    ) -> float:
        """Return the precision with the maximum likelihood of the held-out rows."""
        at = Approximation.of(mode, self.structure, problem)
        (seed,) = torch.randint(2**62, (1,), generator=rng, device=rng.device).tolist()

        def log_likelihood(precision: float) -> float:
            stream = torch.Generator(rng.device).manual_seed(seed)
            posterior = self._around(at, Precisions(precision, at.noise), problem, stream)
            predictive: Any = posterior.predict(validation.inputs, stream)
            return float(predictive.log_prob(validation.targets).mean())

        return max(self.prior_precisions, key=log_likelihood)

    def _posterior(
        self, mode: Posterior, choice: float | None, problem: Problem, rng: torch.Generator
    ) -> Posterior:
        at = Approximation.of(mode, self.structure, problem, self._scales(problem))
        if choice is not None:
            return self._around(at, Precisions(choice, at.noise), problem, rng)
        precisions = maximise_evidence(
            at.evidence, at.noise, learns_noise=problem.likelihood == Gaussian(None)
        )
        details = {
            "log_evidence": at.evidence.log(precisions.prior, precisions.noise),
            "converged": float(precisions.within_bounds),
        }
        return self._around(at, precisions, problem, rng, details)

    def _around(
        self,
        at: "Approximation",
        precisions: Precisions,
        problem: Problem,
        rng: torch.Generator,
        details: Mapping[str, float] | None = None,
    ) -> Posterior:
        """Return the posterior for these precisions."""
        mode, spectrum = at.mode, at.spectrum
        precision = precisions.noise * spectrum.eigenvalues + precisions.prior
        std = (self.temperature / precision).sqrt().to(mode.weights.dtype)
        diagnostics = {
            "prior_precision": precisions.prior,
            "effective_parameters": at.evidence.effective_parameters(
                precisions.prior, precisions.noise
            ),
        } | dict(details or {})
        if mode.noise_variance is not None:
            mode = replace(mode, noise_variance=1 / precisions.noise)
            diagnostics["noise_std"] = precisions.noise**-0.5
        if self.prediction != "mc":
            draws = self.draws if self.prediction == "glm_mc" else 0
            return LinearisedPosterior(mode, spectrum, std, draws, diagnostics)
        (noise,) = normal([rng], self.draws, len(std), dtype=std.dtype)
        weights = mode.weights + spectrum.weights(noise * std, mode.weights.shape[1])
        buffers = recomputed(
            mode.network, weights, problem.train.inputs, mode.buffers, STATISTICS_BATCH
        )
        return replace(mode, weights=weights, buffers=buffers, diagnostics=diagnostics)


@dataclass(frozen=True)
class Approximation:
    """A point estimate, the curvature around it, and the evidence for precisions."""

    mode: NetworkPosterior
    spectrum: Spectrum
    evidence: Evidence

    @classmethod
    def of(
        cls,
        mode: Posterior,
        structure: Structure,
        problem: Problem,
        scales: Float[Tensor, " parameters"] | None = None,
    ) -> "Approximation":
        """Return the approximation at a point estimate, with weights in units of their scales.

        Raises `Unsupported` for a posterior of another kind, `InferenceDiverged` if outputs or
        curvature are not finite.
        """
        mode = _with_own_memory(mode)
        train = problem.train
        at_mode = outputs(mode.network, mode.weights, train.inputs, mode.buffers)[0]
        loss = misfit(mode.likelihood, at_mode, train.targets)
        if not math.isfinite(loss):
            raise InferenceDiverged("the loss at the point estimate is not finite")
        spectrum = structure.spectrum(mode, train.inputs, scales)
        work.count("curvature_rows", len(train))
        classifies = isinstance(mode.likelihood, Categorical)
        evidence = Evidence(
            spectrum.eigenvalues.cpu().numpy(),
            float(spectrum.covered(mode.weights[0]).double().square().sum()),
            loss,
            None if classifies else train.targets.numel(),
        )
        return cls(mode, spectrum, evidence)

    @property
    def noise(self) -> float:
        """The precision of the noise at the point estimate; 1 for a classifier."""
        return 1.0 if self.mode.noise_variance is None else 1 / self.mode.noise_variance


def _with_own_memory(mode: Posterior) -> NetworkPosterior:
    """Return a point estimate in separate memory: products round as if fitted one at a time."""
    if (
        not isinstance(mode, NetworkPosterior)
        or len(mode.weights) != 1
        or (isinstance(mode.likelihood, Gaussian) and mode.noise_variance is None)
    ):
        raise Unsupported(
            "needed a training that ends in one weight vector and one noise variance, such as "
            f"AdamW or Sgd; got a {type(mode).__name__}"
        )
    return replace(mode, weights=mode.weights.clone(), buffers=mode.buffers.clone())


def _outcome(function: Callable[..., Any], *arguments: Any) -> Any:
    """Return the function's result, or the first `InferenceDiverged` given or raised."""
    for argument in arguments:
        if isinstance(argument, InferenceDiverged):
            return argument
    try:
        return function(*arguments)
    except InferenceDiverged as failure:
        return failure
