r"""Sums of independent uniforms, exactly: the marginals of affine functions of a box.

The iterated antiderivatives of the density of $X = \sum_i t_i (U_i - 1/2)$, U uniform on
[0, 1], are $A^{(q)}(x) = E[(x - X)_+^{q-1}] / (q-1)!$; $A^{(0)}$ is the density itself.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from jaxtyping import Float, Float64
from torch import Tensor

from bnnbench.methods.integration import reference
from bnnbench.methods.integration.kernels import uniform_sums

MOST_ORDERS = 4
KEPT_BYTES = 2**27
"""Maximum size of intermediate results that a distribution caches for further cdf calls."""


def antiderivative(
    x: Float[Tensor, "*#batch"], widths: Float[Tensor, "*#batch uniforms"], order: int
) -> Float64[Tensor, "*batch"]:
    """Return the antiderivative of this order at `x`: 0 is the density, 1 the cdf.

    The error is always below 1e-8 of the maximum density, and typically about 1e-13, for all
    widths; zero widths are ignored. A sum without widths has no density, and the density of a
    single uniform jumps: both are continued from the right. Compiled on a CPU; with gradients, or
    on a GPU, in PyTorch. NaN and infinite widths give NaN.
    """
    if not 0 <= order <= MOST_ORDERS:
        raise ValueError(f"needed an order from 0 to {MOST_ORDERS}; got {order}")
    x, widths = x.double(), widths.double()
    follows = torch.is_grad_enabled() and (x.requires_grad or widths.requires_grad)
    shape = torch.broadcast_shapes(x.shape, widths.shape[:-1])
    if follows or x.is_cuda:
        return reference.antiderivative(
            x.expand(shape), widths.expand(*shape, widths.shape[-1]), order
        )
    # Points with the same widths form one row, so that widths are prepared once.
    shares = len(shape) > 0 and (widths.ndim == 1 or widths.shape[-2] == 1)
    rows = widths[..., 0, :] if shares and widths.ndim > 1 else widths
    leading, columns = (shape[:-1], shape[-1]) if shares else (shape, 1)
    count, uniforms = math.prod(leading), widths.shape[-1]
    points = x.expand(shape).reshape(count, columns).contiguous().detach().numpy()
    widths_of_rows = rows.expand(*leading, uniforms).reshape(count, uniforms).contiguous()
    values = uniform_sums.antiderivatives(points, widths_of_rows.detach().numpy(), order)
    return torch.from_numpy(values).view(shape)


def warm_up(device: torch.device) -> None:
    """Compile the integrals; on a GPU there is nothing to compile."""
    if device.type == "cpu":
        x, widths = torch.zeros(1, dtype=torch.float64), torch.ones(1, 2, dtype=torch.float64)
        antiderivative(x, widths, 0)
        SumOfUniforms(x, widths).cdf(x)


@dataclass(frozen=True)
class SumOfUniforms:
    """The distribution of a centre plus independent uniforms around 0."""

    centre: Float[Tensor, "*#batch"]
    widths: Float[Tensor, "*#batch uniforms"]

    @property
    def mean(self) -> Float[Tensor, "*batch"]:
        """The centre."""
        return self.centre

    @cached_property
    def variance(self) -> Float64[Tensor, "*batch"]:
        """The sum of t²/12."""
        return self.widths.double().square().sum(-1) / 12

    def density(self, y: Float[Tensor, "*#batch"]) -> Float64[Tensor, "*batch"]:
        """Return the density at `y`."""
        return antiderivative(y.double() - self.centre.double(), self.widths, 0)

    def cdf(self, y: Float[Tensor, "*#batch"]) -> Float64[Tensor, "*batch"]:
        """Return the probability of at most `y`; later calls cost less than the first."""
        x = y.double() - self.centre.double()
        if not self._keeps_series or x.requires_grad or x.shape != self.widths.shape[:-1]:
            return antiderivative(x, self.widths, 1)
        points = x.detach().reshape(-1, 1).contiguous().numpy()
        return torch.from_numpy(uniform_sums.evaluate(points, self._series, 1)).view(x.shape)

    @property
    def _keeps_series(self) -> bool:
        size = 8 * uniform_sums.PREPARED * math.prod(self.widths.shape[:-1])
        return not (self.widths.is_cuda or self.widths.requires_grad) and size <= KEPT_BYTES

    @cached_property
    def _series(self) -> np.ndarray:
        """The intermediate results of the widths for evaluating the cdf."""
        widths = self.widths.detach().double()
        return uniform_sums.prepare(widths.reshape(-1, widths.shape[-1]).contiguous().numpy(), 1)
