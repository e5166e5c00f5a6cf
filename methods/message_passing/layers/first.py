"""A linear or convolutional layer whose inputs are observed: Gaussian belief propagation.

Every example needs the weights' marginal without its own message. This cavity is rebuilt from two
numbers per row and output, or computed exactly from each example's stored messages.
"""

from dataclasses import dataclass
from math import prod
from typing import Any

import torch
from torch import Tensor

from bnnbench.methods.message_passing.coupled.joint import JointPrecisions, with_precision
from bnnbench.methods.message_passing.gaussian import LEAST_PRECISION, Gaussian, Moments
from bnnbench.methods.message_passing.layers.base import Visit
from bnnbench.methods.message_passing.layers.weighted import WeightedLayer
from bnnbench.methods.message_passing.maps.sums import first_layer_cavities, first_layer_messages
from bnnbench.methods.message_passing.stacks import FirstPulls, FirstSums, Powers, WeightMoments
from bnnbench.methods.networks.torch_layers import affine


@dataclass(frozen=True)
class FirstResidue:
    """Values of a first layer's forward pass that its backward pass needs."""

    x: Tensor
    """The inputs."""
    weights: Any
    """`RowWeights` in a `FirstLayer`, each example's `Moments` in a `FirstLayerOfExamples`."""
    bias: Moments | None
    """The cavities of the biases; None if fused kernels compute them."""
    z: Gaussian
    """The messages to the pre-activations."""


@dataclass(frozen=True)
class RowWeights:
    """The marginals from which the cavities of rows are rebuilt."""

    moments: WeightMoments
    powers: Powers | None
    """Powers of the inputs; None if sums are exact and need none."""


class FirstLayer(WeightedLayer):
    """z = Σ w x + b with observed x; there is one cavity per row (a convolution's position).

    A rebuilt cavity assumes that the example's message is the one it would send now. This is exact
    at a fixed point and in a visit's first iteration; otherwise its error is the change of the
    cavity since the message was sent.
    """

    def forward(self, message: Tensor, visit: Visit) -> tuple[Gaussian, FirstResidue]:
        """Return the messages to the pre-activations."""
        sums, weights = self._weights_part(message, visit)
        z, bias = self._with_bias(sums.mean, sums.variance, None, visit)
        return z, FirstResidue(message, weights, bias, z)

    def backward(self, residue: FirstResidue, message: Gaussian, visit: Visit) -> None:
        """Send messages to weights and biases; observed inputs need none."""
        pulls = FirstPulls.of(self.map.values_room(message.rho, 2))
        h, g = pulls.force, pulls.gain
        self.kernels.fill_pulls(residue.z, message, h, g, None)
        moved = None
        if visit.schedule.solver_iterations:
            variance = self.marginal.weight.variance
            by_weights = self.map.forward(residue.x.square(), variance)
            moved = self._couple(residue.x, variance, by_weights, None, g, h, visit)
        joint = None
        if visit.schedule.joint_precisions:
            joint = self._joint_precisions(residue.x, message.rho, visit)
        self._send_to_weights(self._messages(residue, pulls, visit, joint), visit)
        self._send_to_bias(residue.bias, g, h, visit, joint)
        self._store_pulls(pulls, moved, visit)

    def predict(self, message: Tensor) -> Gaussian:
        """Return the messages of new examples to the pre-activations."""
        sums = self._sums(self._with_square(message), self._weight_moments())
        return self._with_bias(sums.mean, sums.variance, None, None)[0]

    def _store_pulls(self, pulls: FirstPulls, moved: Tensor | None, visit: Visit) -> None:
        """Store gains and forces: cavities are rebuilt, and coupled updates start, from them."""
        self._store("g", pulls.gain, visit)
        self._store("h", pulls.force, visit, moved)

    def _old(self, visit: Visit) -> tuple[Tensor | None, Tensor | None]:
        """Return the stored gains and forces."""
        return self.slots.get("g", visit), self.slots.get("h", visit)

    def _weights_part(self, x: Tensor, visit: Visit) -> tuple[Moments, Any]:
        """Return the moments of Σ w x under the cavities, and the weights for the residue."""
        moments = self._weight_moments()
        g, h = self._old(visit)
        if self.order == "exact" and g is not None and h is not None:
            weights, units = self._weight_rows(moments), self._rows(g, h)
            sums = self.kernels.exact_first_forward(self.map.rows(x), *weights, *units)
            mean, variance = (_as_outputs(part, g) for part in sums)
            return Moments(mean, variance), RowWeights(moments, None)
        powers = self._with_square(x)
        weights = RowWeights(moments, None if self.order == "exact" else powers)
        sums = self._sums(powers, moments)
        if g is None or h is None:
            return Moments(sums.mean, sums.variance), weights
        return first_layer_cavities(self.map, powers, moments.variance, sums, g, h), weights

    def _with_square(self, x: Tensor) -> Powers:
        """Return inputs and their squares."""
        powers = Powers.of(self.map.values_room(x, 2))
        torch.mul(powers.value.copy_(x), x, out=powers.square)
        return powers

    def _sums(self, powers: Powers, moments: WeightMoments) -> FirstSums:
        """Return mean and variance of Σ w x if all rows share the weights' moments."""
        return FirstSums.by(
            self.map.forward, self.map.separates_parts(powers.value), powers, moments
        )

    def _messages(
        self,
        residue: FirstResidue,
        pulls: FirstPulls,
        visit: Visit,
        joint: JointPrecisions | None,
    ) -> Gaussian:
        """Return the product of the group's messages to the weights."""
        new = self._independent(residue, pulls, visit)
        return with_precision(new, residue.weights.moments.mean, joint.weight) if joint else new

    def _independent(self, residue: FirstResidue, pulls: FirstPulls, visit: Visit) -> Gaussian:
        """Return the product of the rows' messages, treated as independent."""
        old_g, old_h = self._old(visit)
        moments: WeightMoments = residue.weights.moments
        powers: Powers | None = residue.weights.powers
        if powers is not None:
            common = moments.mean, moments.variance
            return first_layer_messages(self.map, powers, *common, old_h, pulls)
        rows, weights = self.map.rows(residue.x), self._weight_rows(moments)
        if old_g is None or old_h is None:
            units = self._rows(pulls.gain, pulls.force)
            new = self.kernels.exact_weight_sums(rows, None, *weights, *units)
        else:
            units = self._rows(old_g, old_h, pulls.gain, pulls.force)
            new = self.kernels.exact_first_weight_sums(rows, *weights, *units)
        return Gaussian(self.map.from_rows(new.tau), self.map.from_rows(new.rho))

    def _weight_rows(self, moments: WeightMoments) -> tuple[Tensor, Tensor]:
        """Return means and variances by rows."""
        return self.map.weight_rows(moments.mean), self.map.weight_rows(moments.variance)

    def _rows(self, *values: Tensor) -> tuple[Tensor, ...]:
        return tuple(self.map.output_rows(value) for value in values)


class FirstLayerOfExamples(FirstLayer):
    """A first layer with a cavity for every example, from its stored message.

    The published form. Memory: one copy of the weights per example of the batch.
    """

    def _weights_part(self, x: Tensor, visit: Visit) -> tuple[Moments, Any]:
        weight, old = self.marginal.weight, self.slots.message("weight", visit)
        if old is None:  # all examples share one cavity
            moments = self._weight_moments()
            cavities = Moments(*(part[:, None] for part in self._weight_rows(moments)))
            sums = self._sums(self._with_square(x), moments)
            return Moments(sums.mean, sums.variance), cavities
        tau, rho = (self.map.weight_rows(part)[:, None] for part in (weight.tau, weight.rho))
        cavity = Gaussian(tau, rho) / old
        rho = cavity.rho.clamp_min(LEAST_PRECISION)
        cavities = Moments(cavity.tau / rho, rho.reciprocal())
        rows = self._patches(x)
        mean = self._outputs_of_examples(rows, cavities.mean)
        variance = self._outputs_of_examples(rows.square(), cavities.variance)
        return Moments(mean, variance), cavities

    def _patches(self, x: Tensor) -> Tensor:
        """Return the rows of each example."""
        return self.map.rows(x).view(*x.shape[:2], -1, prod(self.map.weight_shape[1:]))

    def _messages(
        self,
        residue: FirstResidue,
        pulls: FirstPulls,
        visit: Visit,
        joint: JointPrecisions | None,
    ) -> Gaussian:
        assert joint is None  # a joint message cannot be divided into the examples' own messages
        cavities: Moments = residue.weights
        rows = self._patches(residue.x)
        weights = (
            part.expand(*rows.shape[:2], -1, -1).flatten(0, 1)
            for part in (cavities.mean, cavities.variance)
        )
        units = (
            part.view(*rows.shape[:3], -1).flatten(0, 1)
            for part in self._rows(pulls.gain, pulls.force)
        )
        new = self.kernels.exact_weight_sums(rows.flatten(0, 1), None, *weights, *units)
        new = Gaussian(*(part.unflatten(0, rows.shape[:2]) for part in (new.tau, new.rho)))
        old = self.slots.message("weight", visit)
        if old:
            new = old.moved(new, visit.damping)
        self.slots.put_message("weight", visit, new)
        return Gaussian(*(self.map.from_rows(part.sum(1)) for part in (new.tau, new.rho)))

    def _store_pulls(self, pulls: FirstPulls, moved: Tensor | None, visit: Visit) -> None:
        if visit.schedule.solver_iterations:
            self._store("h", pulls.force, visit, moved)

    def _send_to_weights(self, new: Gaussian, visit: Visit) -> None:
        old, room = self._old_and_room(visit)
        marginal, total = self.marginal.weight, self._total
        self.kernels.exchange(marginal, total, new, old, room, 1.0)  # already damped per example

    def _outputs_of_examples(self, rows: Tensor, weights: Tensor) -> Tensor:
        """Return each example's outputs under its own weights."""
        if rows.shape[2] == 1:
            return (rows * weights).sum(-1).view(*rows.shape[:2], *self.map.output_shape)
        outputs = affine(rows.flatten(0, 1), weights.flatten(0, 1))
        channels, *sides = self.map.output_shape
        return outputs.view(*rows.shape[:2], *sides, channels).movedim(-1, 2)


def _as_outputs(rows: Tensor, outputs: Tensor) -> Tensor:
    """Return rows in the shape of a layer's outputs."""
    if outputs.dim() == 3:
        return rows
    _, examples, _, height, width = outputs.shape
    images = rows.view(examples, height, width, -1).permute(0, 3, 1, 2)
    return images.unsqueeze(0)
