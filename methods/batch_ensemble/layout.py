r"""Members with shared matrices and rank-one scales: $W_k = W \circ s_k r_k^T$.

Source: Wen, Tran and Ba (2020), "BatchEnsemble: An Alternative Approach to Efficient Ensemble and
Lifelong Learning", equation 5.
"""

from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Float
from torch import Tensor

from bnnbench.methods.base import Unsupported
from bnnbench.methods.networks.architectures import Conv2d, Linear, TorchModule
from bnnbench.methods.networks.shapes import ParameterSlice
from bnnbench.methods.networks.torch_network import TorchNetwork


@dataclass(frozen=True)
class Layout:
    """The division of a network's numbers into shared and separate ones, and their places.

    Matrices of linear layers and kernels of convolutions are shared, and scaled by inputs and
    outputs. Everything else is each member's own: biases, norms and, if it is separate, the last
    layer.
    """

    parts: tuple[ParameterSlice, ...]
    shares: tuple[bool, ...]
    """True for the parts that all members share."""
    members: int

    @classmethod
    def of(cls, network: TorchNetwork, members: int, separate_last: bool) -> "Layout":
        """Return the layout; raises `Unsupported` if there is no matrix to share."""
        parts = network.parameters
        if any(isinstance(part.layer, TorchModule) for part in parts):
            raise Unsupported(
                "needed linear and convolutional layers, whose matrices members can share; got a "
                "custom module: use Ensemble, or describe its layers"
            )
        matrices = [part for part in parts if _is_matrix(part)]
        separate = {matrices[-1].owner} if separate_last and matrices else set()
        if len(matrices) <= len(separate):
            raise Unsupported("needed a hidden layer for members to share: use Ensemble(...)")
        return cls(parts, tuple(_is_matrix(p) and p.owner not in separate for p in parts), members)

    @cached_property
    def shared(self) -> list[ParameterSlice]:
        """The shared matrices."""
        return [part for part, shares in zip(self.parts, self.shares, strict=True) if shares]

    @cached_property
    def separate(self) -> list[ParameterSlice]:
        """The parts of which every member has a copy."""
        return [part for part, shares in zip(self.parts, self.shares, strict=True) if not shares]

    @cached_property
    def scale_sizes(self) -> list[int]:
        """Numbers of input scales r and output scales s of each shared matrix, in turn."""
        return [size for part in self.shared for size in (part.shape[1], part.shape[0])]

    def gathered(
        self,
        shared: Float[Tensor, "problems parameters"],
        separate: Float[Tensor, "problems members parameters"],
    ) -> Float[Tensor, "problems numbers"]:
        """Return the trained numbers: shared parts of one vector, then each member's others."""
        ours = [shared[:, part.offset : part.stop] for part in self.shared]
        others = [separate[..., part.offset : part.stop].flatten(1) for part in self.separate]
        return torch.cat([*ours, *others], 1)

    def weights(
        self,
        numbers: Float[Tensor, "problems numbers"],
        scales: Float[Tensor, "problems scales"],
    ) -> Float[Tensor, "all_members parameters"]:
        """Return the weights of every member, those of a problem in turn."""
        sizes = [part.size for part in self.shared]
        sizes += [self.members * part.size for part in self.separate]
        pieces = iter(numbers.split(sizes, 1))
        ours = [next(pieces).unflatten(1, (1, *part.shape)) for part in self.shared]
        others = [piece.unflatten(1, (self.members, -1)) for piece in pieces]
        of_members = scales.unflatten(1, (self.members, sum(self.scale_sizes)))
        factors = iter(of_members.split(self.scale_sizes, 2))
        scaled = iter([_scaled(matrix, next(factors), next(factors)) for matrix in ours])
        left = iter(others)
        in_order = [next(scaled) if shares else next(left) for shares in self.shares]
        return torch.cat(in_order, 2).flatten(0, 1)


def _is_matrix(part: ParameterSlice) -> bool:
    return isinstance(part.layer, Linear | Conv2d) and part.name == "weight"


def _scaled(
    matrix: Float[Tensor, "problems 1 outputs inputs *sides"],
    of_inputs: Float[Tensor, "problems members inputs"],
    of_outputs: Float[Tensor, "problems members outputs"],
) -> Float[Tensor, "problems members size"]:
    """Return each member's matrix, flat: an entry times the scales of its input and output."""
    sides = (1,) * (matrix.dim() - 4)
    columns = of_inputs.unflatten(2, (1, -1, *sides))
    rows = of_outputs.unflatten(2, (-1, 1, *sides))
    return (matrix * rows * columns).flatten(2)
