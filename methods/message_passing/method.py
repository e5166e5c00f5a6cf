"""Scalable approximate message passing in a network's factor graph.

Source: paper 000, equations 3, 6 and 7, tables 2 and 3, appendix B.
"""

import importlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import ModuleType
from typing import ClassVar, Literal, cast, get_args

import torch
from jaxtyping import Float
from torch import Tensor

from bnnbench.datasets.base import Categorical, Gaussian, Likelihood, Split
from bnnbench.methods.base import InferenceDiverged, Posterior, PriorUse, Problem
from bnnbench.methods.card import Card
from bnnbench.methods.checkpoints import checkpoint
from bnnbench.methods.compiled.first_rows import fit_first_rows
from bnnbench.methods.fitting import progress, tf32
from bnnbench.methods.fitting.batched import Stacked
from bnnbench.methods.fitting.minibatches import Rows, require_unaugmented
from bnnbench.methods.fitting.network_posterior import convolves, draws_at_once, outputs
from bnnbench.methods.fitting.randomness import normal, spawn
from bnnbench.methods.fitting.scale_free import scale_free
from bnnbench.methods.fitting.settings import require_choice, require_count, require_positive
from bnnbench.methods.fitting.targets import require_output_per_target
from bnnbench.methods.fitting.tf32 import without_tf32
from bnnbench.methods.fitting.validation_search import set_aside
from bnnbench.methods.message_passing.gaussian import Gaussian as Message
from bnnbench.methods.message_passing.heads import Classification, Head, Noise, Regression
from bnnbench.methods.message_passing.informed import InformedPrior, KnownMeans, joined
from bnnbench.methods.message_passing.layers.weighted import Weights
from bnnbench.methods.message_passing.network import (
    MaxPooling,
    MessageAccuracy,
    Network,
    all_proper,
)
from bnnbench.methods.message_passing.priors import SpectralPrior
from bnnbench.methods.message_passing.schedule import Coupled, Schedule, Sequential, ramp
from bnnbench.methods.message_passing.state import Storage
from bnnbench.methods.message_passing.trainer import Trainer
from bnnbench.methods.networks.architectures import Architecture
from bnnbench.methods.networks.torch_network import TorchNetwork
from bnnbench.methods.predictions.base import HasLogProb
from bnnbench.methods.predictions.predictive import Predictive
from bnnbench.methods.tuning.space import Choice, Log, Space

Backend = Literal["compiled", "reference", "fused"]
KERNELS = {
    "reference": "bnnbench.methods.message_passing.kernels.reference",
    "compiled": "bnnbench.methods.message_passing.kernels.compiled",
    "fused": "bnnbench.methods.message_passing.kernels.fused",
}
ON_A_GPU = {
    "reference": KERNELS["reference"],
    "compiled": "bnnbench.methods.message_passing.kernels.cuda",
    "fused": "bnnbench.methods.message_passing.kernels.cuda.fused",
}
"""Module of each backend, imported on use."""
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}
POINTS_AT_ONCE = 500
HELD_OUT = 0.2
"""The share of training rows used to choose the noise."""
FEW_ROUNDS = ((1, 1), (1, 1, 2, 2), (1, 1, 2, 2, 3, 3))
"""Rounds per epoch that a search tries with informed prior means."""


@dataclass(frozen=True)
class MessagePassingPosterior:
    """An independent Gaussian over every weight.

    Without draws, predictions are closed-form messages through layers whose inputs are treated as
    independent. With draws, they are the mixture over networks with sampled weights.
    """

    architecture: Architecture
    likelihood: Likelihood
    input_shape: tuple[int, ...]
    weights: tuple[Weights, ...]
    head: Head
    learned: Noise | None
    backend: Backend
    draws: int
    max_pool: MaxPooling
    diagnostics: Mapping[str, float]

    def predicting_with(self, variance: float) -> "MessagePassingPosterior":
        """Return a classifier's posterior with this variance in argmax predictions."""
        assert isinstance(self.head, Classification)
        diagnostics = dict(self.diagnostics) | {"predictive_variance": variance}
        head = replace(self.head, predictive_variance=variance)
        return replace(self, head=head, diagnostics=diagnostics)

    def predict(
        self, inputs: Float[Tensor, "points *features"], rng: torch.Generator
    ) -> Predictive:
        """Return class probabilities, or every output's mean and variance, including noise."""
        with torch.no_grad(), without_tf32():
            return self._sampled(inputs, rng) if self.draws else self._analytic(inputs)

    def _analytic(self, inputs: Tensor) -> Predictive:
        device = inputs.device
        kernels = kernels_for(self.backend, device)
        network = Network(self.architecture, self.input_shape, kernels, max_pool=self.max_pool)
        network.start_from(self.weights)
        dtype = self.weights[0].weight.rho.dtype
        z = [network.predict(points.to(dtype)[None]) for points in inputs.split(POINTS_AT_ONCE)]
        tau, rho = (torch.cat([getattr(part, name) for part in z], 1) for name in ("tau", "rho"))
        return self.head.predictive(Message(tau, rho), self.learned)

    def _sampled(self, inputs: Tensor, rng: torch.Generator) -> Predictive:
        network = TorchNetwork(self.architecture, self.input_shape)
        parts = [part for layer in self.weights for part in layer.parts()]
        mean, variance = (
            torch.cat([values.flatten() for values in column])
            for column in zip(*((part.mean, part.variance) for part in parts), strict=True)
        )
        inputs, at_once, outputs_of_draws = inputs.to(mean.dtype), draws_at_once(network), []
        for start in range(0, self.draws, at_once):
            draws = min(at_once, self.draws - start)
            (noise,) = normal([rng], draws, len(mean), dtype=mean.dtype)
            weights = mean + variance.sqrt() * noise
            outputs_of_draws.append(outputs(network, weights, inputs, weights.new_empty(draws, 0)))
        return self.head.predictive_of_draws(torch.cat(outputs_of_draws), self.learned)


@dataclass(frozen=True)
class MessagePassing(Stacked):
    """Gaussian messages between weights and examples, one batch after another.

    Each epoch visits every batch once, for `iterations[epoch]` rounds of messages; from the
    second visit on, the batch's old messages are divided out. Classes are chosen by the argmax of
    noisy outputs. Unknown regression noise has a Gamma over each output's precision, or is the best
    of `noise_stds` on a fifth of the training rows.
    """

    card: ClassVar[Card] = Card("message passing", gradients=False)
    prior_use: ClassVar[PriorUse] = "own"

    iterations: Sequence[int] = ramp(6)
    """Rounds of messages per visit of a batch, by epoch."""
    batch_size: int = 128
    schedule: Schedule = field(default_factory=Coupled)
    """Order of a batch's examples, and how many send messages at a time."""
    accuracy: MessageAccuracy = field(default_factory=MessageAccuracy)
    """Approximations of sums of messages."""
    prior: SpectralPrior | InformedPrior = field(default_factory=SpectralPrior)
    """Means and variances of the weights' prior."""
    head: Literal["argmax", "softmax"] = "argmax"
    """The likelihood of classes."""
    argmax_variance: float = 0.3
    """The variance of the noise on each difference of outputs."""
    target_variance: float | None = 0.1
    """The variance of messages that pull outputs to +1 for the label and -1 for others. None: no
    such messages."""
    class_probabilities: Literal["pairs", "largest"] = "pairs"
    """The rule of argmax predictions. `pairs` is the published product over pairs of classes,
    treated as independent, which is overconfident wherever no class is likely
    (docs/message_passing_overconfidence.md); `largest` is the probability that a class has the
    largest output."""
    predictive_variance: float | None = None
    """Replaces `argmax_variance` in predictions; None: no change, as published."""
    predictive_variances: Sequence[float] = field(default=(), metadata={"later": True})
    """Candidates; the best on a fifth of the training rows predicts after a fit to all rows."""
    max_pool: MaxPooling = field(default="published", metadata={"later": True})
    """clark: the moments of a maximum, and a linear backward message (factors/clark_pool.py)."""
    noise_stds: Sequence[float] = ()
    """Candidates in standardised target units; empty: the Gamma posterior."""
    noise_shape: float = 6.0
    noise_rate: float = 6.0
    predictive_draws: int = 0
    """Number of networks with sampled weights that predict; 0: the closed form."""
    storage: Literal["as_data", "float32", "bfloat16"] = "as_data"
    """The type in which batches' messages are stored between visits."""
    on_host: bool = False
    """True stores batches' messages in host memory between visits."""
    backend: Backend = "compiled"
    """`compiled` needs a C compiler, or CuPy for data on a GPU; `reference` is plain PyTorch.
    `fused` is for GPUs: fewer and longer kernels, which sum in another order."""

    def __post_init__(self) -> None:
        for name in ("iterations", "noise_stds", "predictive_variances"):
            object.__setattr__(self, name, tuple(getattr(self, name)))  # equal settings, equal hash
        counts = self.iterations
        if not counts or any(
            not isinstance(n, int) or isinstance(n, bool) or n < 1 for n in counts
        ):
            raise ValueError(f"MessagePassing needs iterations >= 1 for each epoch; got {counts!r}")
        require_count(self, "batch_size")
        require_count(self, "predictive_draws", least=0)
        require_choice(self, "head", ("argmax", "softmax"))
        require_choice(self, "class_probabilities", ("pairs", "largest"))
        require_choice(self, "max_pool", get_args(MaxPooling))
        require_choice(self, "storage", ("as_data", *DTYPES))
        require_choice(self, "backend", get_args(Backend))
        require_positive(self, "argmax_variance", "noise_rate", "noise_shape")
        if self.target_variance is not None:
            require_positive(self, "target_variance")
        if self.predictive_variance is not None:
            require_positive(self, "predictive_variance")
        if self.head == "softmax" and (self.predictive_variance or self.predictive_variances):
            raise ValueError(
                "MessagePassing needs head='argmax' for a predictive variance, as softmax has no "
                f"noise; got {self.predictive_variance or self.predictive_variances!r}"
            )
        if self.schedule.joint_precisions and self.accuracy.cavity == "example":
            raise ValueError(
                "MessagePassing needs MessageAccuracy(cavity='row') for joint precisions, which "
                "are not sums over examples; got 'example'"
            )
        if self.schedule.joint_precisions and self.backend == "fused":
            raise ValueError(
                "MessagePassing needs backend='compiled' or 'reference' for joint precisions, "
                "which have no fused kernels; got 'fused'"
            )
        for name in ("noise_stds", "predictive_variances"):
            if not all(0 < value < math.inf for value in getattr(self, name)):
                raise ValueError(f"MessagePassing needs {name} > 0; got {getattr(self, name)!r}")

    @property
    def space(self) -> Space:
        """The search space; a schedule with one example at a time has no damping.

        With informed means it covers fits of several epochs, or of one batch in many rounds.
        """
        fields = {"prior.scale": Log(0.1, 10.0), "prior.mean_scale": Log(0.5, 3.0)}
        if isinstance(self.prior, InformedPrior):
            fields = {"prior.scale": Log(0.1, 10.0), "prior.training.epochs": Choice((3, 6, 12))}
            if len(self.iterations) > 1:
                return Space(fields | {"iterations": Choice(FEW_ROUNDS)})
        if not isinstance(self.schedule, Sequential):
            fields["schedule.damping"] = Log(0.25, 1.0)
        return Space(fields, length="iterations", lengths=(6, 12, 25, 50, 100))

    def warm_up(self, problem: Problem) -> None:
        """Compile the kernels: all C kernels, or the CUDA kernels that one batch needs."""
        if self.backend != "reference":
            short = replace(self, iterations=(1,), noise_stds=(), predictive_variances=())
            fit_first_rows(short, problem, self.batch_size)

    @scale_free
    @torch.no_grad()
    @without_tf32()
    def fit_stack(
        self, problems: Sequence[Problem], rngs: Sequence[torch.Generator]
    ) -> list[Posterior | InferenceDiverged]:
        """Return the posterior of each problem."""
        informed = isinstance(self.prior, InformedPrior)  # by a method that may be given
        require_output_per_target(problems[0], continues=informed)
        require_unaugmented(problems, self)
        if self.noise_stds and problems[0].likelihood == Gaussian(None):
            return self._with_chosen_noise(problems, rngs)
        if self.predictive_variances and isinstance(problems[0].likelihood, Categorical):
            return self._with_chosen_predictive_variance(problems, rngs)
        if not isinstance(self.prior, InformedPrior):
            return self._passed(problems, rngs, self.prior)
        pairs = [self.prior.parts(*each) for each in zip(problems, rngs, strict=True)]
        sources, informed = zip(*pairs, strict=True)
        return self.fit_informed(informed, sources, rngs)

    @torch.no_grad()
    @without_tf32()
    def fit_informed(
        self,
        problems: Sequence[Problem],
        sources: Sequence[Problem],
        rngs: Sequence[torch.Generator],
    ) -> list[Posterior | InferenceDiverged]:
        """Return the posterior of each problem, with prior means from its source's rows."""
        assert isinstance(self.prior, InformedPrior)
        with torch.enable_grad():
            priors = self.prior.means(sources, rngs)
        known = [(k, prior) for k, prior in enumerate(priors) if isinstance(prior, KnownMeans)]
        results: list[Posterior | InferenceDiverged] = [
            prior for prior in priors if isinstance(prior, InferenceDiverged)
        ]
        if not known:
            return results
        passed = self._passed(
            [problems[k] for k, _ in known],
            [rngs[k] for k, _ in known],
            joined([prior for _, prior in known]),
            1.0 if self.prior.rows == "shared" and problems[0] is sources[0] else 0.0,
        )
        by_member = dict(zip((k for k, _ in known), passed, strict=True))
        failed = iter(results)
        return [by_member[k] if k in by_member else next(failed) for k in range(len(problems))]

    def _passed(
        self,
        problems: Sequence[Problem],
        rngs: Sequence[torch.Generator],
        prior: SpectralPrior | KnownMeans,
        rows_shared: float | None = None,
    ) -> list[Posterior | InferenceDiverged]:
        """Return the posterior of each problem under the given prior."""
        trainer = self._trainer(problems, rngs, prior)
        assert not any(tf32.flags().values()), "fit_stack switches TF32 off"
        epochs = len(self.iterations)
        for epoch in checkpoint.epochs(epochs, trainer, *rngs):
            loss = trainer.epoch(epoch + 1, self.iterations[epoch], rngs)
            progress.report(epoch + 1, epochs, loss)
        trainer.drop_hopeless()
        shared = {} if rows_shared is None else {"prior_rows_shared": rows_shared}
        return [self._posterior(trainer, problem, k, shared) for k, problem in enumerate(problems)]

    def _trainer(
        self,
        problems: Sequence[Problem],
        rngs: Sequence[torch.Generator],
        prior: SpectralPrior | KnownMeans,
    ) -> Trainer:
        """Return the members before their first epoch, each with its rows in random batches."""
        first = problems[0]
        rows = Rows(problems)
        order = torch.stack(
            [torch.randperm(rows.count, generator=rng, device=rng.device) for rng in rngs]
        )
        kernels = kernels_for(self.backend, rows.inputs.device)
        accuracy = self.accuracy
        if self.schedule.joint_precisions and accuracy.cavity == "by_fan_in":
            accuracy = replace(accuracy, cavity="row")
        network = Network(first.architecture, first.input_shape, kernels, accuracy, self.max_pool)
        return Trainer(
            network,
            self._head(problems, rows.inputs),
            prior.draw(network.weighted, rngs, rows.inputs),
            rows.inputs,
            rows.targets,
            rows.first + order,
            self.batch_size,
            self.schedule,
            Storage(DTYPES.get(self.storage), "cpu" if self.on_host else None),
        )

    def _head(self, problems: Sequence[Problem], inputs: Tensor) -> Head:
        likelihood = problems[0].likelihood
        if isinstance(likelihood, Categorical):
            return Classification(
                self.argmax_variance,
                self.target_variance,
                softmax=self.head == "softmax",
                largest=self.class_probabilities == "largest",
                predictive_variance=self.predictive_variance,
            )
        (outputs,) = problems[0].train.targets.shape[1:]
        stds = [cast(Gaussian, problem.likelihood).noise_std for problem in problems]
        if None not in stds:
            variances = inputs.new_tensor(stds).square()[:, None]
            return Regression(variances.expand(-1, outputs).clone(), None)
        gamma = inputs.new_tensor([self.noise_shape, self.noise_rate])
        return Regression(None, gamma.expand(len(problems), outputs, 2).clone())

    def _posterior(
        self, trainer: Trainer, problem: Problem, member: int, shared: Mapping[str, float]
    ) -> MessagePassingPosterior | InferenceDiverged:
        index = torch.tensor([member], device=trainer.inputs.device)
        weights = tuple(layer.of_members(index) for layer in trainer.stored.marginal)
        if trainer.retries.lost[member] or not bool(all_proper(weights)):
            return InferenceDiverged("no calmer schedule keeps messages finite and plausible")
        noise_std = getattr(problem.likelihood, "noise_std", None)
        known_noise = {} if noise_std is None else {"noise_std": noise_std}
        return MessagePassingPosterior(
            problem.architecture,
            problem.likelihood,
            problem.input_shape,
            weights,
            trainer.head.of_members(index),
            None if trainer.stored.noise is None else trainer.stored.noise[index],
            self.backend,
            self.predictive_draws,
            self.max_pool,
            {**trainer.diagnostics(member), **known_noise, **shared},
        )

    def _with_chosen_noise(
        self, problems: Sequence[Problem], rngs: Sequence[torch.Generator]
    ) -> list[Posterior | InferenceDiverged]:
        """Return fits with the noise that best predicts a fifth of the training rows."""
        stds = self.noise_stds
        parts = [
            set_aside(problem, HELD_OUT, rng) for problem, rng in zip(problems, rngs, strict=True)
        ]
        trials = [replace(rest, likelihood=Gaussian(std)) for rest, _ in parts for std in stds]
        streams = [stream for rng in rngs for stream in spawn(rng, len(stds))]
        with progress.part(0, 2):
            fitted = self._side_by_side(trials, streams)
        scores = torch.tensor(
            [_score(fit, parts[k // len(stds)][1]) for k, fit in enumerate(fitted)]
        ).view(-1, len(stds))
        chosen = [
            replace(problem, likelihood=Gaussian(stds[best]))
            for problem, best in zip(problems, scores.argmax(1).tolist(), strict=True)
        ]
        with progress.part(1, 2):
            outcomes = self._side_by_side(chosen, rngs)
        return [
            outcome if usable else InferenceDiverged("no candidate of the noise gave a sound fit")
            for outcome, usable in zip(outcomes, scores.isfinite().any(1).tolist(), strict=True)
        ]

    def _with_chosen_predictive_variance(
        self, problems: Sequence[Problem], rngs: Sequence[torch.Generator]
    ) -> list[Posterior | InferenceDiverged]:
        """Return fits with the predictive variance that is best on a fifth of the training rows."""
        plain = replace(self, predictive_variances=())
        parts = [
            set_aside(problem, HELD_OUT, rng) for problem, rng in zip(problems, rngs, strict=True)
        ]
        trials = [rest for rest, _ in parts]
        with progress.part(0, 2):
            fitted = plain._side_by_side(trials, [spawn(rng, 1)[0] for rng in rngs])
        with progress.part(1, 2):
            outcomes = plain._side_by_side(problems, rngs)
        return [
            _predicting_best(fit, outcome, validation, self.predictive_variances)
            for fit, outcome, (_, validation) in zip(fitted, outcomes, parts, strict=True)
        ]

    def _side_by_side(
        self, problems: Sequence[Problem], rngs: Sequence[torch.Generator]
    ) -> list[Posterior | InferenceDiverged]:
        """Return the fit of each problem; their known noise may differ. Images one by one."""
        if not convolves(problems[0].architecture):
            return self.fit_stack(problems, rngs)
        return [
            fit
            for number, pair in enumerate(zip(problems, rngs, strict=True))
            for fit in self._fit_alone(number, len(problems), *pair)
        ]

    def _fit_alone(
        self, number: int, count: int, problem: Problem, rng: torch.Generator
    ) -> list[Posterior | InferenceDiverged]:
        with progress.part(number, count):
            return self.fit_stack([problem], [rng])


def _predicting_best(
    trial: Posterior | InferenceDiverged,
    outcome: Posterior | InferenceDiverged,
    validation: Split,
    variances: Sequence[float],
) -> Posterior | InferenceDiverged:
    """Return the outcome with the variance for which the trial best predicts held-out rows."""
    if isinstance(outcome, InferenceDiverged):
        return outcome
    if isinstance(trial, InferenceDiverged):
        return InferenceDiverged(f"without a fifth of the rows: {trial}")
    assert isinstance(trial, MessagePassingPosterior)
    assert isinstance(outcome, MessagePassingPosterior)
    scores = [_score(trial.predicting_with(variance), validation) for variance in variances]
    if max(scores) == -math.inf:
        return InferenceDiverged("no variance gives the held-out rows a finite likelihood")
    return outcome.predicting_with(variances[scores.index(max(scores))])


def _score(posterior: Posterior | InferenceDiverged, validation: Split) -> float:
    """Return the mean log likelihood of the rows; -inf for a diverged fit."""
    if isinstance(posterior, InferenceDiverged):
        return -math.inf
    rng = torch.Generator(validation.inputs.device)
    prediction = posterior.predict(validation.inputs, rng)
    assert isinstance(prediction, HasLogProb)
    score = float(prediction.log_prob(validation.targets).mean())
    return score if math.isfinite(score) else -math.inf


def kernels_for(backend: Backend, device: torch.device) -> ModuleType:
    """Return the module of kernels for data on a device."""
    modules = KERNELS if device.type == "cpu" else ON_A_GPU
    return importlib.import_module(modules[backend])
