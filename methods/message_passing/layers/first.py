"""A linear or convolutional layer whose inputs are observed: Gaussian belief propagation.

Every example needs the weights without its own message. The cavity is rebuilt from two numbers
per row and output, or found exactly from the stored messages of each example.
"""

from math import prod

import torch
from torch import Tensor

from methods.message_passing.coupling import Coupling
from methods.message_passing.gaussian import LEAST_PRECISION, Gaussian
from methods.message_passing.joint import with_precision
from methods.message_passing.layers.base import Visit
from methods.message_passing.layers.weighted import Known, Pull, WeightedLayer, Weights
from methods.message_passing.sums import first_layer_forward, first_layer_messages
from methods.torch_layers import affine


class FirstLayer(WeightedLayer):
    """z = Σ w x + b of observed x; cavities are those of rows (a convolution's positions).

    A rebuilt cavity takes the example's message for what it would be now. That is exact at a
    fixed point and in a visit's first iteration; in between it is off by what the cavity has
    moved since the message was sent.
    """

    def forward(self, message: Tensor, visit: Visit) -> Gaussian:
        """Return the messages to the pre-activations."""
        self._x = message
        self._bias = self._cavity_of_bias(visit)
        mean, variance = self._weights_part(visit)
        if self._bias:
            mean, variance = mean + self._bias[0], variance + self._bias[1]
        self._mean, self._variance = mean, variance
        return self._message(mean, variance)

    def backward(self, message: Gaussian, visit: Visit) -> None:
        """Send messages to weights and biases; observed inputs need none."""
        pull = self._pull(message, self._mean, self._variance)
        if visit.schedule.solver_iterations:
            pull = self._couple(self._coupling(), pull, visit)
        joint = visit.schedule.joint_precisions
        known = self._known(self._x, message.rho, visit) if joint else None
        new = self._messages(pull.g, pull.h, visit, known)
        self._send_to_weights(new, visit)
        self._send_to_bias(self._bias, pull, visit, known)
        self._keep_pull(pull, visit)
        del self._x, self._mean, self._variance

    def predict(self, message: Tensor) -> Gaussian:
        """Return the messages of new examples to the pre-activations."""
        weight, bias = self.marginal.weight, self.marginal.bias
        mean = self.map.forward(message, weight.mean)
        variance = self.map.forward(message.square(), weight.variance)
        if bias:
            mean = mean + self.map.spread(bias.mean[:, None])
            variance = variance + self.map.spread(bias.variance[:, None])
        return self._message(mean, variance)

    def _keep_pull(self, pull: Pull, visit: Visit) -> None:
        """Keep what cavities are rebuilt from, and what the next coupled update starts from."""
        self._keep("g", pull.g, visit)
        self._keep("h", pull.h, visit)

    def _old(self, visit: Visit) -> tuple[Tensor | None, Tensor | None]:
        return self.slots.get("g", visit), self.slots.get("h", visit)

    def _weights_part(self, visit: Visit) -> tuple[Tensor, Tensor]:
        """Return mean and variance of Σ w x under the cavities."""
        weight = self.marginal.weight
        self._weight_mean, self._weight_variance = weight.mean, weight.variance
        g, h = self._old(visit)
        if g is None or h is None:
            return (
                self.map.forward(self._x, self._weight_mean),
                self.map.forward(self._x.square(), self._weight_variance),
            )
        if self.order == "exact":
            mean, variance = self.kernels.exact_first_forward(
                self.map.rows(self._x),
                self._weight_mean.flatten(2),
                self._weight_variance.flatten(2),
                self.map.output_rows(g),
                self.map.output_rows(h),
            )
            return _as_outputs(mean, g), _as_outputs(variance, g)
        return first_layer_forward(
            self.map, self._x, self._weight_mean, self._weight_variance, g, h
        )

    def _messages(self, g: Tensor, h: Tensor, visit: Visit, known: Known | None) -> Gaussian:
        """Return the product of the group's messages to the weights."""
        new = self._independent(g, h, visit)
        return with_precision(new, self._weight_mean, known.weight) if known else new

    def _independent(self, g: Tensor, h: Tensor, visit: Visit) -> Gaussian:
        """Return the product of the messages of rows, each for itself."""
        old_g, old_h = self._old(visit)
        old_g = torch.zeros_like(g) if old_g is None else old_g
        old_h = torch.zeros_like(h) if old_h is None else old_h
        mean, variance = self._weight_mean, self._weight_variance
        if self.order != "exact":
            return first_layer_messages(self.map, self._x, mean, variance, old_h, g, h)
        new = self.kernels.exact_first_weight_sums(
            self.map.rows(self._x),
            mean.flatten(2),
            variance.flatten(2),
            *(self.map.output_rows(values) for values in (old_g, old_h, g, h)),
        )
        return Gaussian(new.tau.view_as(mean), new.rho.view_as(mean))

    def _coupling(self) -> Coupling:
        weight, bias = self.marginal.weight, self.marginal.bias
        variance = weight.variance
        diagonal = self.map.forward(self._x.square(), variance)
        if bias:
            diagonal = diagonal + self.map.spread(bias.variance[:, None])
        return Coupling(
            self.map, self._x, variance, bias.variance if bias else None, diagonal, None
        )


class FirstLayerOfExamples(FirstLayer):
    """A first layer whose cavities are those of examples, from their stored messages.

    The published form. Memory: the weights once for every example of the batch.
    """

    def _weights_part(self, visit: Visit) -> tuple[Tensor, Tensor]:
        weight = self.marginal.weight
        cavity = Gaussian(weight.tau[:, None], weight.rho[:, None])
        old = self.slots.message("weight", visit)
        if old:
            cavity = cavity / old
        cavity = Gaussian(cavity.tau, cavity.rho.clamp_min(LEAST_PRECISION))
        batch = self._x.shape[:2]  # members and examples
        self._patches = self.map.rows(self._x).view(*batch, -1, prod(self.map.weight_shape[1:]))
        mean, variance = (
            part.flatten(3).expand(*batch, -1, -1) for part in (cavity.mean, cavity.variance)
        )
        self._cavity = mean, variance
        return self._outputs(self._patches, mean), self._outputs(self._patches.square(), variance)

    def _messages(self, g: Tensor, h: Tensor, visit: Visit, known: Known | None) -> Gaussian:
        assert known is None  # a share of a joint message is not what a cavity lacks
        rows, (mean, variance) = self._patches, self._cavity
        shape = (*rows.shape[:3], -1)
        g, h = (self.map.output_rows(values).view(shape).flatten(0, 1) for values in (g, h))
        none = torch.zeros_like(g)  # an example's own message is not in its cavity
        new = self.kernels.exact_first_weight_sums(
            *(part.flatten(0, 1) for part in (rows, mean, variance)), none, none, g, h
        )
        shape = (*rows.shape[:2], *self.map.weight_shape)
        new, old = (
            Gaussian(new.tau.view(shape), new.rho.view(shape)),
            self.slots.message("weight", visit),
        )
        if old:
            new = old.moved(new, visit.damping)
        self.slots.put_message("weight", visit, new)
        return Gaussian(new.tau.sum(1), new.rho.sum(1))

    def _keep_pull(self, pull: Pull, visit: Visit) -> None:
        if visit.schedule.solver_iterations:
            self._keep("h", pull.h, visit)

    def _send_to_weights(self, new: Gaussian, visit: Visit) -> None:
        old = self.sums[visit.group]
        self.sums[visit.group] = new  # damped already, example by example
        weight = self.marginal.weight * (new / old if old else new)
        self.marginal = Weights(weight, self.marginal.bias)

    def _outputs(self, rows: Tensor, weights: Tensor) -> Tensor:
        """Return each example's outputs under its own weights."""
        if rows.shape[2] == 1:
            return (rows * weights).sum(-1).view(*rows.shape[:2], *self.map.output_shape)
        outputs = affine(rows.flatten(0, 1), weights.flatten(0, 1))
        return outputs.mT.reshape(*rows.shape[:2], *self.map.output_shape)


def _as_outputs(rows: Tensor, like: Tensor) -> Tensor:
    if like.dim() == 3:
        return rows
    _, examples, _, height, width = like.shape
    images = rows.view(examples, height, width, -1).permute(0, 3, 1, 2)
    return images.unsqueeze(0)
