"""A linear or convolutional layer whose inputs are random: variational message passing.

Source: paper 000, section 3 and appendix B; Stern, Herbrich and Graepel (2009) for products.
"""

import torch
from torch import Tensor

from methods.message_passing.coupling import Coupling
from methods.message_passing.gaussian import Gaussian
from methods.message_passing.joint import with_precision
from methods.message_passing.layers.base import Visit
from methods.message_passing.layers.weighted import Pull, WeightedLayer
from methods.message_passing.sums import Moments, messages


class LaterLayer(WeightedLayer):
    """z = Σ w a + b; messages to a factor contain the marginal of the other one.

    The marginal of an input contains the message that this layer sent to it in the visit's last
    iteration, that of a weight the message of the example itself.
    """

    def forward(self, message: Gaussian, visit: Visit) -> Gaussian:
        """Return the messages to the pre-activations."""
        old = self.slots.message("input", visit)
        moments = self._moments(message * old if old else message)
        self._bias = self._cavity_of_bias(visit)
        mean, self._own_variance, self._lower_variance = self._sums(moments)
        variance = self._own_variance + self._lower_variance
        if self._bias:
            mean, variance = mean + self._bias[0], variance + self._bias[1]
        self._now, self._mean, self._variance = moments, mean, variance
        return self._message(mean, variance)

    def backward(self, message: Gaussian, visit: Visit) -> Gaussian:
        """Return the messages to the inputs, and send those to weights and biases."""
        pull = self._pull(message, self._mean, self._variance)
        if visit.schedule.without_own_force and not visit.is_first:
            unshared = self._own_variance + self._lower_variance  # the bias has a cavity already
            pull = Pull(pull.g, pull.h + pull.g * unshared * self.slots.kept("h", visit))
        if visit.schedule.solver_iterations:
            pull = self._couple(self._coupling(), pull, visit)
        to_weights, to_inputs = messages(
            self.order, self.map, self._now, pull.g, pull.h, self.kernels
        )
        known = None
        if visit.schedule.joint_precisions:
            observed = message.rho / (1 + message.rho * self._lower_variance)
            known = self._known(self._now.input_mean, observed, visit)
            to_weights = with_precision(to_weights, self._now.weight_mean, known.weight)
        self._send_to_weights(to_weights, visit)
        self._send_to_bias(self._bias, pull, visit, known)
        if visit.schedule.without_own_force or visit.schedule.solver_iterations:
            self._keep("h", pull.h, visit)
        to_inputs = to_inputs.floored()
        self.slots.put_message("input", visit, to_inputs)
        del self._now, self._mean, self._variance, self._own_variance, self._lower_variance
        return to_inputs

    def predict(self, message: Gaussian) -> Gaussian:
        """Return the messages of new examples to the pre-activations."""
        mean, own, lower = self._sums(self._moments(message))
        variance = own + lower
        if self.marginal.bias:
            bias = self.marginal.bias
            mean = mean + self.map.spread(bias.mean[:, None])
            variance = variance + self.map.spread(bias.variance[:, None])
        return self._message(mean, variance)

    def _moments(self, inputs: Gaussian) -> Moments:
        inputs = inputs.floored()
        weight = self.marginal.weight
        return Moments(inputs.mean, inputs.variance, weight.mean, weight.variance)

    def _sums(self, m: Moments) -> tuple[Tensor, Tensor, Tensor]:
        """Return the mean of Σ w a, and its variance due to the weights and to the inputs."""
        return (
            self.map.forward(m.input_mean, m.weight_mean),
            self.map.forward(m.input_mean.square(), m.weight_variance),
            self.map.forward(m.input_variance, m.weight_mean.square() + m.weight_variance),
        )

    def _coupling(self) -> Coupling:
        bias = self.marginal.bias
        diagonal, bias_variance = self._own_variance, None
        if bias:
            bias_variance = bias.variance
            diagonal = diagonal + self.map.spread(bias_variance[:, None])
        scale = torch.sqrt(1 + self._lower_variance / diagonal)
        return Coupling(
            self.map,
            self._now.input_mean,
            self._now.weight_variance,
            bias_variance,
            diagonal,
            scale,
        )
