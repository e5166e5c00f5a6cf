"""A network whose dense layers receive their inputs through rotated noise."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import torch
from jaxtyping import Float
from torch import Tensor

from bnnbench.methods.base import Unsupported
from bnnbench.methods.fitting.randomness import normal
from bnnbench.methods.networks.architectures import Architecture, Layer, Linear, Residual
from bnnbench.methods.networks.passes import Parameters, Pass, Rule
from bnnbench.methods.networks.shapes import ParameterSlice, Shape
from bnnbench.methods.networks.torch_layers import RULES
from bnnbench.methods.networks.torch_network import TorchNetwork
from bnnbench.methods.vsd.noise import RotatedNoise, noises_of

Sharing = Literal["outputs", "none"]
"""A layer's outputs share the factors of its inputs ("outputs"), or each has its own ("none")."""


@dataclass(frozen=True)
class NoisyActivations:
    """Activations, and the noise of the dense layers that they have not passed yet."""

    values: Tensor
    noises: tuple[RotatedNoise, ...]

    def __len__(self) -> int:
        return len(self.values)

    def __add__(self, other: object) -> "NoisyActivations":
        return NotImplemented

    @property
    def shape(self) -> Sequence[int]:
        """The shape of the values."""
        return self.values.shape

    def expand(self, *sizes: int) -> "NoisyActivations":
        """Return the activations expanded to this number of members, without a copy."""
        return replace(self, values=self.values.expand(*sizes))


class StructuredNetwork(TorchNetwork):
    """The architecture as a function of weights and of the noise's parameters."""

    def __init__(
        self, architecture: Architecture, input_shape: Shape, reflections: int, sharing: Sharing
    ) -> None:
        rules: dict[type[Layer], Rule] = {
            layer_type: _beside_noise(rule) for layer_type, rule in RULES.items()
        }
        rules[Linear] = _shared if sharing == "outputs" else _separate
        super().__init__(architecture, input_shape, rules)
        self.arguments = (architecture, input_shape, reflections, sharing)
        self.reflections, self.sharing = reflections, sharing
        self.dense = dense_weights(self)
        self.widths = [part.shape[1] for part in self.dense]

    def __call__(self, weights: Any, inputs: Any, **options: Any) -> Tensor:
        """Return each member's outputs; `weights` are the weights and the noise's parameters."""
        plain, numbers = weights
        noises = noises_of(numbers, self.widths, self.reflections)
        return super().__call__(plain, NoisyActivations(inputs, noises), **options).values

    def kl(self, numbers: Float[Tensor, "members numbers"]) -> Float[Tensor, " members"]:
        """Return the total divergence of the noise from its best prior, in nats."""
        noises = noises_of(numbers, self.widths, self.reflections)
        copies = [1 if self.sharing == "outputs" else part.shape[0] for part in self.dense]
        return torch.stack([n * noise.kl() for n, noise in zip(copies, noises, strict=True)]).sum(0)


def dense_weights(network: TorchNetwork) -> list[ParameterSlice]:
    """Return the positions of dense layers' weights; raises `Unsupported` if there are none."""
    if any(isinstance(layer, Residual) for layer in network.architecture):
        raise Unsupported("needed a network without Residual for VSD; got one")
    parts = network.parameters
    dense = [p for p in parts if isinstance(p.layer, Linear) and p.name == "weight"]
    if not dense:
        raise Unsupported(
            "needed a network with a dense layer for VSD; got "
            f"{', '.join(map(str, network.architecture))}"
        )
    return dense


def drawn_weights(
    weights: Float[Tensor, "1 parameters"],
    parts: Sequence[ParameterSlice],
    noises: Sequence[RotatedNoise],
    sharing: Sharing,
    draws: int,
    rng: torch.Generator,
) -> Float[Tensor, "draws parameters"]:
    """Return weights times factors, which are drawn separately for each draw."""
    repeated_weights = weights.repeat(draws, 1)
    for part, noise in zip(parts, noises, strict=True):
        outputs = 1 if sharing == "outputs" else part.shape[0]
        standard = normal([rng], draws, outputs, noise.inputs, dtype=weights.dtype)
        factors = noise.factors(standard)[0].expand(-1, part.shape[0], -1)
        repeated_weights[:, part.offset : part.stop] *= factors.flatten(1)
    return repeated_weights


def _beside_noise(rule: Rule) -> Rule:
    def beside(layer: Any, stacks: Sequence[Parameters], x: NoisyActivations, context: Pass) -> Any:
        return replace(x, values=rule(layer, stacks, x.values, context))

    return beside


def _shared(layer: Linear, stacks: Sequence[Parameters], x: NoisyActivations, context: Pass) -> Any:
    """Return the outputs for drawn factors of the inputs, drawn anew for every example."""
    noise, *rest = x.noises
    factors = noise.factors(context.draw(x.values, _standard))
    values = RULES[Linear](layer, stacks, x.values * factors, context)
    return NoisyActivations(values, tuple(rest))


def _separate(
    layer: Linear, stacks: Sequence[Parameters], x: NoisyActivations, context: Pass
) -> Any:
    r"""Return drawn outputs. They are independent and normal, since each has its own factors.

    For weights θ, an output has the mean $\sum_i x_i m_i \theta_i + b$ and the variance
    $\sum_k \alpha_k (U^T (x \circ \theta))_k^2$.
    """
    noise, *rest = x.noises
    mean = RULES[Linear](layer, stacks, x.values * noise.mean().unsqueeze(1), context)
    terms = x.values.unsqueeze(2) * stacks[0]["weight"].unsqueeze(1)
    alpha = noise.log_alpha.exp()[:, None, None]
    variance = (noise.rotated_back(terms).square() * alpha).sum(-1)
    values = mean + variance.clamp_min(1e-16).sqrt() * context.draw(mean, _standard)
    return NoisyActivations(values, tuple(rest))


def _standard(row: Tensor, rng: torch.Generator) -> Tensor:
    return row.normal_(generator=rng)
