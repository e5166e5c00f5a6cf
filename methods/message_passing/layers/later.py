"""A linear or convolutional layer whose inputs are random: variational message passing.

Source: paper 000, section 3 and appendix B; Stern, Herbrich and Graepel (2009) for products.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from bnnbench.methods.message_passing.coupled.joint import JointPrecisions, with_precision
from bnnbench.methods.message_passing.gaussian import Gaussian, Moments
from bnnbench.methods.message_passing.layers.base import Visit
from bnnbench.methods.message_passing.layers.weighted import WeightedLayer
from bnnbench.methods.message_passing.maps.base import Dense
from bnnbench.methods.message_passing.maps.sums import input_sums, later_weight_sums, messages
from bnnbench.methods.message_passing.stacks import (
    InputMoments,
    LaterPulls,
    LaterSums,
    WeightMoments,
)


@dataclass(frozen=True)
class LaterResidue:
    """Values of a later layer's forward pass that its backward pass needs."""

    inputs: InputMoments
    weights: WeightMoments | None
    """Moments of the weights; None if kernels for few rows recompute them."""
    weight_variance: Tensor | None
    """Variance of the weights; None if no forces are coupled."""
    sums: LaterSums
    bias: Moments | None
    """The cavities of the biases; None if fused kernels compute them."""
    z: Gaussian
    """The messages to the pre-activations."""


class LaterLayer(WeightedLayer):
    """z = Σ w a + b; messages to a factor contain the marginal of the other factor.

    The marginal of an input contains the message that this layer sent to it in the visit's last
    iteration; the marginal of a weight contains the example's own message.
    """

    def forward(self, message: Gaussian, visit: Visit) -> tuple[Gaussian, LaterResidue]:
        """Return the messages to the pre-activations."""
        inputs = self._input_moments(message, self.slots.message("input", visit))
        solves, weight = visit.schedule.solver_iterations > 0, self.marginal.weight
        if self._has_few_rows(visit):
            weights = None
            variance = torch.empty_like(weight.rho) if solves else None
            sums = self.kernels.dense_sums(weight, inputs, variance)
        else:
            weights = self._weight_moments()
            variance = weights.variance if solves else None
            sums = self._sums(inputs, weights)
        z, bias = self._with_bias(sums.mean, sums.by_weights, sums.by_inputs, visit)
        return z, LaterResidue(inputs, weights, variance, sums, bias, z)

    def backward(self, residue: LaterResidue, message: Gaussian, visit: Visit) -> Gaussian:
        """Return the messages to the inputs, and send the messages to weights and biases."""
        schedule, sums = visit.schedule, residue.sums
        pulls = LaterPulls.of(self.map.values_room(message.rho, 3))
        h, g = pulls.force, pulls.gain
        self._fill_pulls(residue, message, pulls, visit)
        moved = None
        if residue.weight_variance is not None:
            x = self._alone(residue.inputs.mean)
            variances = residue.weight_variance, sums.by_weights, sums.by_inputs
            moved = self._couple(x, *variances, g, h, visit)
        joint = None
        if schedule.joint_precisions:
            observed = message.rho / (1 + message.rho * sums.by_inputs)
            joint = self._joint_precisions(residue.inputs.mean, observed, visit)
        to_inputs = self._send(residue, pulls, joint, visit)
        self._send_to_bias(residue.bias, g, h, visit, joint)
        if schedule.without_own_force or schedule.solver_iterations:
            self._store("h", h, visit, moved)
        self.slots.put_message("input", visit, to_inputs)
        return to_inputs

    def predict(self, message: Gaussian) -> Gaussian:
        """Return the messages of new examples to the pre-activations."""
        sums = self._sums(self._input_moments(message, None), self._weight_moments())
        return self._with_bias(sums.mean, sums.by_weights, sums.by_inputs, None)[0]

    def _sums(self, inputs: InputMoments, weights: WeightMoments) -> LaterSums:
        """Return the moments of Σ w a."""
        return LaterSums.by(
            self.map.forward, self.map.separates_parts(inputs.mean), inputs, weights
        )

    def _fill_pulls(
        self, residue: LaterResidue, message: Gaussian, pulls: LaterPulls, visit: Visit
    ) -> None:
        """Fill forces and gains of backward messages; own forces are removed if so scheduled."""
        h, g, again = pulls.force, pulls.gain, pulls.gain_again
        sums, z = residue.sums, residue.z
        removes = visit.schedule.without_own_force and not visit.is_first
        old = self.slots.previous("h", visit) if removes else None
        if old is None:
            self.kernels.fill_pulls(z, message, h, g, again)
        else:  # the bias already has a cavity
            self.kernels.fill_pulls_without_own(
                z, message, sums.by_weights, sums.by_inputs, old, h, g, again
            )

    def _alone(self, mean: Tensor) -> Tensor:
        """Return means contiguous, not interleaved in their stack, as they are read often."""
        room = self.map.values_room(mean, 1)
        if self.kernels.FUSED and room.stride() == mean.stride():
            return mean
        return room.copy_(mean)

    def _send(
        self,
        residue: LaterResidue,
        pulls: LaterPulls,
        joint: JointPrecisions | None,
        visit: Visit,
    ) -> Gaussian:
        """Send the messages to the weights and return the messages to the inputs."""
        inputs, weights = residue.inputs, residue.weights
        if weights is None:
            old, room = self._old_and_room(visit)
            books = (self.marginal.weight, self._total)
            units = pulls.force, pulls.gain
            sums = self.kernels.dense_messages(*books, inputs, *units, old, room, visit.damping)
            return self.kernels.input_messages(inputs.mean, sums)
        if self.kernels.FUSED and self.order == "zeroth":
            sums = later_weight_sums(self.map, inputs, pulls)
            sums_of_inputs = input_sums(self.map, weights, pulls)
            old, room = self._old_and_room(visit)
            books = self.marginal.weight, self._total
            self.kernels.exchange_sums(*books, weights.mean, sums, old, room, visit.damping)
            return self.kernels.input_messages(inputs.mean, sums_of_inputs)
        to_weights, to_inputs = messages(self.order, self.map, inputs, weights, pulls, self.kernels)
        if joint:
            to_weights = with_precision(to_weights, weights.mean, joint.weight)
        self._send_to_weights(to_weights, visit)
        return to_inputs

    def _has_few_rows(self, visit: Visit) -> bool:
        """Return whether the group's sums use kernels for few rows (weights.py)."""
        few = visit.rows.stop - visit.rows.start <= self.kernels.FEW_ROWS
        zeroth = self.order == "zeroth" and not visit.schedule.joint_precisions
        return few and zeroth and isinstance(self.map, Dense)

    def _input_moments(self, message: Gaussian, sent: Gaussian | None) -> InputMoments:
        """Return the moments of the inputs, given the messages from below and from this layer."""
        moments = InputMoments.of(self.map.values_room(message.rho, 3))
        parts = moments.mean, moments.square, moments.variance
        self.kernels.fill_moments(message, sent, *parts)
        return moments
