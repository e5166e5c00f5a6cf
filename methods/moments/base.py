"""Random units, each a mean and a variance, that flow through a network in place of numbers."""

from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor


@dataclass(frozen=True)
class Moments:
    """Independent random units; a variance of None means that units are known exactly.

    Like a tensor, it adds, expands and has a shape, and so passes through `TorchNetwork`.
    """

    mean: Float[Tensor, "*shape"]
    variance: Float[Tensor, "*shape"] | None = None

    def __len__(self) -> int:
        return len(self.mean)

    def __add__(self, other: "Moments") -> "Moments":
        """Return the moments of the sum of two independent quantities."""
        if not isinstance(other, Moments):
            return NotImplemented
        variances = [m.variance for m in (self, other) if m.variance is not None]
        return Moments(
            self.mean + other.mean, sum(variances[1:], variances[0]) if variances else None
        )

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the mean, and of the variance if there is one."""
        return tuple(self.mean.shape)

    def expand(self, *sizes: int) -> "Moments":
        """Return both expanded to `sizes`, without a copy."""
        variance = None if self.variance is None else self.variance.expand(*sizes)
        return Moments(self.mean.expand(*sizes), variance)
