"""A linear or convolutional layer whose inputs are random: variational message passing.

Source: paper 000, section 3 and appendix B; Stern, Herbrich and Graepel (2009) for products.
"""

import torch
from torch import Tensor

from bnnbench.methods.message_passing.coupled.joint import with_precision
from bnnbench.methods.message_passing.gaussian import Gaussian
from bnnbench.methods.message_passing.layers.base import Visit
from bnnbench.methods.message_passing.layers.weighted import JointPrecisions, WeightedLayer
from bnnbench.methods.message_passing.maps.base import Dense
from bnnbench.methods.message_passing.maps.sums import Moments, messages


class LaterLayer(WeightedLayer):
    """z = Σ w a + b; messages to a factor contain the marginal of the other one.

    The marginal of an input contains the message that this layer sent to it in the visit's last
    iteration, that of a weight the message of the example itself.
    """

    def forward(self, message: Gaussian, visit: Visit) -> Gaussian:
        """Return the messages to the pre-activations."""
        self._inputs = self._input_moments(message, self.slots.message("input", visit))
        self._bias = self._cavity_of_bias(visit)
        sums = self._sums(visit)
        mean, self._own_variance, self._lower_variance = sums.chunk(3)
        variances = self._own_variance, self._lower_variance
        self._z = self.kernels.output_messages(mean, *variances, *self._bias)
        return self._z

    def backward(self, message: Gaussian, visit: Visit) -> Gaussian:
        """Return the messages to the inputs, and send those to weights and biases."""
        schedule, pulls = visit.schedule, self.map.values_room(message.rho, 3)
        h, g, again = pulls.chunk(3)
        self.kernels.fill_pulls(self._z, message, h, g, again)
        own, lower = self._own_variance, self._lower_variance
        if schedule.without_own_force and not visit.is_first:
            h += g * (own + lower) * self.slots.kept("h", visit)  # the bias has a cavity already
        if self._variance is not None:
            mean = self._inputs.chunk(3)[0]
            x = self.map.values_room(mean, 1).copy_(mean)  # without what lies between: read often
            self._couple(x, self._variance, own, lower, g, h, visit)
        known = None
        if schedule.joint_precisions:
            mean = self._inputs.chunk(3)[0]
            known = self._known(mean, message.rho / (1 + message.rho * lower), visit)
        to_inputs = self._send(pulls, known, visit)
        self._send_to_bias(self._bias, g, h, visit, known)
        if schedule.without_own_force or schedule.solver_iterations:
            self._keep("h", h, visit)
        self.slots.put_message("input", visit, to_inputs)
        del self._inputs, self._weights, self._variance
        del self._z, self._own_variance, self._lower_variance
        return to_inputs

    def predict(self, message: Gaussian) -> Gaussian:
        """Return the messages of new examples to the pre-activations."""
        sums = self.map.forward(self._input_moments(message, None), self._weight_moments())
        return self.kernels.output_messages(*sums.chunk(3), *self._bias_moments())

    def _sums(self, visit: Visit) -> Tensor:
        """Return mean of Σ w a, and its variances due to weights and to inputs, side by side."""
        solves, weight = visit.schedule.solver_iterations > 0, self.marginal.weight
        if self._has_few_rows(visit):
            self._weights = None
            self._variance = torch.empty_like(weight.rho) if solves else None
            return self.kernels.dense_sums(weight, self._inputs, self._variance)
        self._weights = self._weight_moments()
        self._variance = self._weights.chunk(3)[1] if solves else None
        return self.map.forward(self._inputs, self._weights)

    def _send(self, pulls: Tensor, known: JointPrecisions | None, visit: Visit) -> Gaussian:
        """Send the messages to the weights; return those to the inputs."""
        if self._weights is None:
            h, g, _ = pulls.chunk(3)
            old, kept = self._stored(visit)
            books = (self.marginal.weight, self._total)
            sums = self.kernels.dense_messages(*books, self._inputs, h, g, old, kept, visit.damping)
            return self.kernels.input_messages(self._inputs.chunk(3)[0], sums)
        moments = Moments(self._inputs, self._weights)
        to_weights, to_inputs = messages(self.order, self.map, moments, pulls, self.kernels)
        if known:
            to_weights = with_precision(to_weights, moments.of_weights[0], known.weight)
        self._send_to_weights(to_weights, visit)
        return to_inputs

    def _has_few_rows(self, visit: Visit) -> bool:
        """Return whether the group's sums are made by kernels of few rows (weights.py)."""
        few = visit.rows.stop - visit.rows.start <= self.kernels.FEW_ROWS
        zeroth = self.order == "zeroth" and not visit.schedule.joint_precisions
        return few and zeroth and isinstance(self.map, Dense)

    def _input_moments(self, message: Gaussian, sent: Gaussian | None) -> Tensor:
        """Return the moments of the inputs, given the messages from below and from here."""
        moments = self.map.values_room(message.rho, 3)
        self.kernels.fill_moments(message, sent, *moments.chunk(3))
        return moments
