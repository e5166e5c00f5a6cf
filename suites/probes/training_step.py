"""Time of a training step, forward and backward, beside that of a plain network.

Source: paper 001, appendix D.1.
"""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from bnnbench.datasets.base import Dataset, Split
from bnnbench.datasets.conditions import condition_names
from bnnbench.datasets.conditions.traits import Traits
from bnnbench.engine.declare.probe import Measured
from bnnbench.methods.fitting.network_posterior import NetworkPosterior
from bnnbench.methods.moment_propagation.posterior import MomentPosterior
from bnnbench.methods.moments.base import Moments
from bnnbench.methods.moments.rules import moment_rules, with_variance
from bnnbench.methods.moments.units.softmax import log_probabilities
from bnnbench.methods.moments.units.standard import LEAST_VARIANCE
from bnnbench.methods.networks.architectures import Architecture, Layer, LeakyReLU
from bnnbench.methods.networks.passes import Rule
from bnnbench.methods.networks.torch_network import TorchNetwork
from bnnbench.metrics import PROBED

Rules = Mapping[type[Layer], Rule] | None

SCALE_OF_RATIO = 0.3729
"""The paper's constant t of the variance of a rectifier, appendix D.1."""


@dataclass(frozen=True)
class TrainingStep:
    """Ratio of times for one batch, as the posterior's network is trained and for a plain network.

    A step is a forward and a backward pass without the optimiser's update. Steps are taken by
    turns in one process, and the shortest count. Times depend on the machine.
    """

    plain: Architecture
    """The network of ordinary training."""
    rows: int = 128
    turns: int = 20

    def measure(
        self, posterior: NetworkPosterior | MomentPosterior, dataset: Dataset, rng: torch.Generator
    ) -> Mapping[str, Measured]:
        """Return "training_step" and "training_step_in_torch" → ratio of times.

        The second has the paper's formulas for rectifiers, in functions of torch instead of
        compiled kernels.
        """
        train = dataset.train
        batch = Split(train.inputs[: self.rows], train.targets[: self.rows]).to(rng.device)
        steps = [Step(self.plain, batch, rng), *_steps(posterior, batch, rng)]
        plain, *others = seconds_by_turns(steps, self.turns, rng.device)
        measured = {}
        for in_torch, seconds in zip((False, True), others, strict=True):
            ratio = float(PROBED["relative_train_time"].score(seconds, plain))
            traits = Traits(f"training step{', in torch' * in_torch}")
            name = condition_names.training_step(in_torch)
            measured[name] = Measured({"relative_train_time": ratio}, traits)
        return measured


class Step:
    """A forward and backward pass of a batch through a network with random weights."""

    def __init__(
        self,
        architecture: Architecture,
        batch: Split,
        rng: torch.Generator,
        rules: Rules = None,
        input_variance: float = 0.0,
    ) -> None:
        inputs = batch.inputs[None]
        self.network = TorchNetwork(architecture, tuple(batch.inputs.shape[1:]), rules)
        self.weights = self.network.initial_weights([rng])
        self.buffers = self.network.initial_buffers(self.weights, list(inputs))
        self.weights.requires_grad_()
        self.inputs = inputs if rules is None else with_variance(inputs, input_variance)
        self.targets, self.rngs = batch.targets[None, :, None], [rng]

    def log_probs(self) -> Tensor:
        """Return the log probabilities of the classes, in training mode."""
        options = {"buffers": self.buffers, "training": True, "rngs": self.rngs}
        y = self.network(self.weights, self.inputs, **options)
        return y.log_softmax(-1) if isinstance(y, Tensor) else log_probabilities(y)

    def __call__(self) -> None:
        """Compute the gradient of the mean log loss."""
        loss = -self.log_probs().gather(2, self.targets).mean()
        torch.autograd.grad(loss, self.weights)


def seconds_by_turns(
    steps: Sequence[Callable[[], object]], turns: int, device: torch.device
) -> list[Tensor]:
    """Return the times of each step in all turns but the first, which warms up.

    On a CPU it is processor time, which the load of the machine hardly affects.
    """
    clock = time.process_time if device.type == "cpu" else _clock_of_gpu
    seconds: list[list[float]] = [[] for _ in steps]
    for _ in range(turns + 1):
        for step, of_step in zip(steps, seconds, strict=True):
            start = clock()
            step()
            of_step.append(clock() - start)
    return [torch.tensor(of_step[1:], dtype=torch.float64) for of_step in seconds]


def rules_in_torch(rules: Mapping[type[Layer], Rule]) -> Mapping[type[Layer], Rule]:
    """Return the rules with the paper's implementation of a leaky rectifier."""

    def rule(layer: Any, _: Any, x: Moments, context: Any) -> Moments:
        return leaky_relu_in_torch(x, layer.slope)

    return {**rules, LeakyReLU: rule}


def leaky_relu_in_torch(x: Moments, slope: float) -> Moments:
    r"""Return the paper's approximate moments of max(X, slope X), in functions of torch.

    $\Phi(a)$ is replaced by $S(\pi a/\sqrt 3)$, and $\mathcal R(a)$ by $S(a/t)$: eqs. 36 and 39.
    """
    if x.variance is None:
        return Moments(torch.nn.functional.leaky_relu(x.mean, slope))
    std = x.variance.clamp(min=LEAST_VARIANCE).sqrt()
    a = x.mean / std
    cdf, pdf = torch.sigmoid(math.pi / math.sqrt(3) * a), torch.exp(-a * a / 2)
    mean = x.mean * (slope + (1 - slope) * cdf) + std * (1 - slope) / math.sqrt(2 * math.pi) * pdf
    ratio = slope**2 + (1 - slope**2) * torch.sigmoid(a / SCALE_OF_RATIO)
    return Moments(mean, x.variance * ratio)


def _steps(
    posterior: NetworkPosterior | MomentPosterior, batch: Split, rng: torch.Generator
) -> tuple[Step, Step]:
    """Return the step as the posterior was trained, and in functions of torch."""
    if isinstance(posterior, NetworkPosterior):
        step = Step(posterior.network.architecture, batch, rng)
        return step, step
    architecture, rules = posterior.at_mean.network.architecture, moment_rules(posterior.formulas)
    both = [
        Step(architecture, batch, rng, each, posterior.input_variance)
        for each in (rules, rules_in_torch(rules))
    ]
    return both[0], both[1]


def _clock_of_gpu() -> float:
    torch.cuda.synchronize()
    return time.perf_counter()
