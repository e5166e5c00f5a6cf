"""A stack's network as a body that computes features, and a last linear layer."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

from bnnbench.methods.base import Problem, Unsupported
from bnnbench.methods.fitting.training import Stack
from bnnbench.methods.networks.architectures import Linear
from bnnbench.methods.networks.torch_network import TorchNetwork


@dataclass(frozen=True)
class Body:
    """The layers before the last."""

    network: TorchNetwork | None
    """None for a network of a single layer."""
    last: Linear

    @classmethod
    def of(cls, problem: Problem) -> "Body":
        """Return the body of a problem's network; raises `Unsupported` for another last layer."""
        *layers, last = problem.architecture
        if not isinstance(last, Linear):
            raise Unsupported(
                f"needed a network that ends in a linear layer, to replace it; got {last}: for a "
                "trained module use OnLastLayer(...)"
            )
        return cls(TorchNetwork(tuple(layers), problem.input_shape) if layers else None, last)

    @property
    def count(self) -> int:
        """Number of weights before the last layer."""
        return self.network.parameter_count if self.network else 0

    def features(
        self,
        stack: Stack,
        weights: Float[Tensor, "members parameters"],
        inputs: Float[Tensor, "members batch *features"],
    ) -> Float[Tensor, "members batch width"]:
        """Return what the last layer receives in training, and a 1 if it has a bias.

        Batch statistics of the stack are updated.
        """
        if self.network is not None:
            buffers = stack.buffers[: len(inputs)]
            inputs = self.network(
                weights, inputs, buffers=buffers, training=True, rngs=stack.streams
            )
        return functional.pad(inputs, (0, int(self.last.bias)), value=1.0)

    def last_layer(
        self, weights: Float[Tensor, "members parameters"]
    ) -> Float[Tensor, "members outputs width"]:
        """Return the last layer's weights, each row followed by its bias."""
        matrix, bias = weights[:, self.count :], weights[:, :0]
        if self.last.bias:
            matrix, bias = matrix[:, : -self.last.outputs], matrix[:, -self.last.outputs :]
        rows = matrix.unflatten(1, (self.last.outputs, -1))
        return torch.cat([rows, bias.unsqueeze(-1)], -1) if self.last.bias else rows.contiguous()
