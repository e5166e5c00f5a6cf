"""A linear or convolutional layer whose inputs are random: variational message passing.

Source: paper 000, section 3 and appendix B; Stern, Herbrich and Graepel (2009) for products.
"""

import torch
from torch import Tensor

from methods.message_passing.gaussian import Gaussian
from methods.message_passing.joint import with_precision
from methods.message_passing.layers.base import Visit
from methods.message_passing.layers.weighted import WeightedLayer
from methods.message_passing.sums import Moments, messages


class LaterLayer(WeightedLayer):
    """z = Σ w a + b; messages to a factor contain the marginal of the other one.

    The marginal of an input contains the message that this layer sent to it in the visit's last
    iteration, that of a weight the message of the example itself.
    """

    def forward(self, message: Gaussian, visit: Visit) -> Gaussian:
        """Return the messages to the pre-activations."""
        self._now = self._moments(message, self.slots.message("input", visit))
        self._bias = self._cavity_of_bias(visit)
        self._z, self._own_variance, self._lower_variance = self._outputs(self._now, self._bias)
        return self._z

    def backward(self, message: Gaussian, visit: Visit) -> Gaussian:
        """Return the messages to the inputs, and send those to weights and biases."""
        schedule, pulls = visit.schedule, self.map.values_room(message.rho, 3)
        h, g, again = pulls.chunk(3)
        self.kernels.fill_pulls(self._z, message, h, g, again)
        if schedule.without_own_force and not visit.is_first:
            unshared = self._own_variance + self._lower_variance  # the bias has a cavity already
            h += g * unshared * self.slots.kept("h", visit)
        if schedule.solver_iterations:
            x = self._now.of_inputs[0]
            x = self.map.values_room(x, 1).copy_(x)  # without what lies between: read often
            s = self._now.of_weights[1]
            self._couple(x, s, self._own_variance, self._lower_variance, g, h, visit)
        to_weights, to_inputs = messages(self.order, self.map, self._now, pulls, self.kernels)
        known = None
        if schedule.joint_precisions:
            observed = message.rho / (1 + message.rho * self._lower_variance)
            known = self._known(self._now.of_inputs[0], observed, visit)
            to_weights = with_precision(to_weights, self._now.of_weights[0], known.weight)
        self._send_to_weights(to_weights, visit)
        self._send_to_bias(self._bias, g, h, visit, known)
        if schedule.without_own_force or schedule.solver_iterations:
            self._keep("h", h, visit)
        self.slots.put_message("input", visit, to_inputs)
        del self._now, self._z, self._own_variance, self._lower_variance
        return to_inputs

    def predict(self, message: Gaussian) -> Gaussian:
        """Return the messages of new examples to the pre-activations."""
        z, _, _ = self._outputs(self._moments(message, None), self._bias_moments())
        return z

    def _moments(self, message: Gaussian, sent: Gaussian | None) -> Moments:
        """Return the moments of the inputs, given the messages from below and from here."""
        weight = self.marginal.weight
        inputs = self.map.values_room(message.rho, 3)
        moments = Moments(inputs, self.map.weights_room(weight.rho, 3))
        self.kernels.fill_moments(message, sent, *moments.of_inputs)
        mean, variance, second = moments.of_weights
        torch.div(weight.tau, weight.rho, out=mean)
        torch.reciprocal(weight.rho, out=variance)
        torch.addcmul(variance, mean, mean, out=second)
        return moments

    def _outputs(self, m: Moments, bias: tuple[Tensor, Tensor]) -> tuple[Gaussian, Tensor, Tensor]:
        """Return the messages to pre-activations, and variances due to weights and to inputs."""
        mean, own, lower = self.map.forward(m.inputs, m.weights).chunk(3)
        return self.kernels.output_messages(mean, own, lower, *bias), own, lower
