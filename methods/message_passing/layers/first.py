"""A linear or convolutional layer whose inputs are observed: Gaussian belief propagation.

Every example needs the weights without its own message. The cavity is rebuilt from two numbers
per row and output, or found exactly from the stored messages of each example.
"""

from math import prod

import torch
from torch import Tensor

from bnnbench.methods.message_passing.coupled.joint import with_precision
from bnnbench.methods.message_passing.gaussian import LEAST_PRECISION, Gaussian
from bnnbench.methods.message_passing.layers.base import Visit
from bnnbench.methods.message_passing.layers.weighted import JointPrecisions, WeightedLayer
from bnnbench.methods.message_passing.maps.sums import first_layer_cavities, first_layer_messages
from bnnbench.methods.networks.torch_layers import affine


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
        self._z = self.kernels.output_messages(mean, variance, None, *self._bias)
        return self._z

    def backward(self, message: Gaussian, visit: Visit) -> None:
        """Send messages to weights and biases; observed inputs need none."""
        pulls = self.map.values_room(message.rho, 2)
        h, g = pulls.chunk(2)
        self.kernels.fill_pulls(self._z, message, h, g, None)
        if visit.schedule.solver_iterations:
            weight = self.marginal.weight.variance
            own = self.map.forward(self._x.square(), weight)
            self._couple(self._x, weight, own, None, g, h, visit)
        joint = visit.schedule.joint_precisions
        known = self._known(self._x, message.rho, visit) if joint else None
        self._send_to_weights(self._messages(pulls, visit, known), visit)
        self._send_to_bias(self._bias, g, h, visit, known)
        self._keep_pull(g, h, visit)
        del self._x, self._z

    def predict(self, message: Tensor) -> Gaussian:
        """Return the messages of new examples to the pre-activations."""
        sums = self._sums(self._with_square(message), self._weight_moments())
        return self.kernels.output_messages(*sums, None, *self._bias_moments())

    def _keep_pull(self, g: Tensor, h: Tensor, visit: Visit) -> None:
        """Keep what cavities are rebuilt from, and what the next coupled update starts from."""
        self._keep("g", g, visit)
        self._keep("h", h, visit)

    def _old(self, visit: Visit) -> tuple[Tensor | None, Tensor | None]:
        return self.slots.get("g", visit), self.slots.get("h", visit)

    def _weights_part(self, visit: Visit) -> tuple[Tensor, Tensor]:
        """Return mean and variance of Σ w x under the cavities."""
        self._moments = self._weight_moments()
        g, h = self._old(visit)
        if self.order == "exact" and g is not None and h is not None:
            weights, units = self._weight_rows(self._moments), self._rows(g, h)
            sums = self.kernels.exact_first_forward(self.map.rows(self._x), *weights, *units)
            mean, variance = (_as_outputs(part, g) for part in sums)
            return mean, variance
        self._powers = self._with_square(self._x)
        sums = self._sums(self._powers, self._moments)
        if g is None or h is None:
            return sums
        variance = self._moments.chunk(3)[1]
        return first_layer_cavities(self.map, self._powers, variance, *sums, g, h)

    def _with_square(self, x: Tensor) -> Tensor:
        """Return inputs and their squares, side by side."""
        room = self.map.values_room(x, 2)
        value, square = room.chunk(2)
        torch.mul(value.copy_(x), x, out=square)
        return room

    def _sums(self, powers: Tensor, moments: Tensor) -> tuple[Tensor, Tensor]:
        """Return mean and variance of Σ w x under common moments of the weights."""
        mean, variance = self.map.forward(powers, moments[: len(powers)]).chunk(2)
        return mean, variance

    def _messages(self, pulls: Tensor, visit: Visit, known: JointPrecisions | None) -> Gaussian:
        """Return the product of the group's messages to the weights."""
        new = self._independent(pulls, visit)
        return with_precision(new, self._moments.chunk(3)[0], known.weight) if known else new

    def _independent(self, pulls: Tensor, visit: Visit) -> Gaussian:
        """Return the product of the messages of rows, each for itself."""
        old_g, old_h = self._old(visit)
        if self.order != "exact":
            mean, variance, _ = self._moments.chunk(3)
            return first_layer_messages(self.map, self._powers, mean, variance, old_h, pulls)
        h, g = pulls.chunk(2)
        rows, weights = self.map.rows(self._x), self._weight_rows(self._moments)
        if old_g is None or old_h is None:
            new = self.kernels.exact_weight_sums(rows, None, *weights, *self._rows(g, h))
        else:
            units = self._rows(old_g, old_h, g, h)
            new = self.kernels.exact_first_weight_sums(rows, *weights, *units)
        return Gaussian(self.map.from_rows(new.tau), self.map.from_rows(new.rho))

    def _weight_rows(self, moments: Tensor) -> tuple[Tensor, Tensor]:
        """Return means and variances by rows."""
        mean, variance, _ = moments.chunk(3)
        return self.map.weight_rows(mean), self.map.weight_rows(variance)

    def _rows(self, *values: Tensor) -> tuple[Tensor, ...]:
        return tuple(self.map.output_rows(value) for value in values)


class FirstLayerOfExamples(FirstLayer):
    """A first layer whose cavities are those of examples, from their stored messages.

    The published form. Memory: the weights once for every example of the batch.
    """

    def _weights_part(self, visit: Visit) -> tuple[Tensor, Tensor]:
        weight, old = self.marginal.weight, self.slots.message("weight", visit)
        if old is None:  # one cavity of all examples
            moments = self._weight_moments()
            self._cavity = [part[:, None] for part in self._weight_rows(moments)]
            return self._sums(self._with_square(self._x), moments)
        tau, rho = (self.map.weight_rows(part)[:, None] for part in (weight.tau, weight.rho))
        cavity = Gaussian(tau, rho) / old
        rho = cavity.rho.clamp_min(LEAST_PRECISION)
        self._cavity = [cavity.tau / rho, rho.reciprocal()]
        rows = self._patches()
        mean, variance = self._cavity
        return self._outputs(rows, mean), self._outputs(rows.square(), variance)

    def _patches(self) -> Tensor:
        """Return the rows of each example."""
        return self.map.rows(self._x).view(*self._x.shape[:2], -1, prod(self.map.weight_shape[1:]))

    def _messages(self, pulls: Tensor, visit: Visit, known: JointPrecisions | None) -> Gaussian:
        h, g = pulls.chunk(2)
        assert known is None  # a share of a joint message is not what a cavity lacks
        rows = self._patches()
        weights = (part.expand(*rows.shape[:2], -1, -1).flatten(0, 1) for part in self._cavity)
        units = (part.view(*rows.shape[:3], -1).flatten(0, 1) for part in self._rows(g, h))
        new = self.kernels.exact_weight_sums(rows.flatten(0, 1), None, *weights, *units)
        new = Gaussian(*(part.unflatten(0, rows.shape[:2]) for part in (new.tau, new.rho)))
        old = self.slots.message("weight", visit)
        if old:
            new = old.moved(new, visit.damping)
        self.slots.put_message("weight", visit, new)
        return Gaussian(*(self.map.from_rows(part.sum(1)) for part in (new.tau, new.rho)))

    def _keep_pull(self, g: Tensor, h: Tensor, visit: Visit) -> None:
        if visit.schedule.solver_iterations:
            self._keep("h", h, visit)

    def _send_to_weights(self, new: Gaussian, visit: Visit) -> None:
        old, kept = self._stored(visit)
        marginal, total = self.marginal.weight, self._total
        self.kernels.exchange(marginal, total, new, old, kept, 1.0)  # examples' own are damped

    def _outputs(self, rows: Tensor, weights: Tensor) -> Tensor:
        """Return each example's outputs under its own weights."""
        if rows.shape[2] == 1:
            return (rows * weights).sum(-1).view(*rows.shape[:2], *self.map.output_shape)
        outputs = affine(rows.flatten(0, 1), weights.flatten(0, 1))
        channels, *sides = self.map.output_shape
        return outputs.view(*rows.shape[:2], *sides, channels).movedim(-1, 2)


def _as_outputs(rows: Tensor, like: Tensor) -> Tensor:
    if like.dim() == 3:
        return rows
    _, examples, _, height, width = like.shape
    images = rows.view(examples, height, width, -1).permute(0, 3, 1, 2)
    return images.unsqueeze(0)
