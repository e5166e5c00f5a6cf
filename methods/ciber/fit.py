"""The fit of CIBER: iterates of a descent, before any box."""

from dataclasses import dataclass

from bnnbench.datasets.base import Split
from bnnbench.methods.base import Problem
from bnnbench.methods.ciber.boxes import Bounds
from bnnbench.methods.ciber.samples import Samples
from bnnbench.methods.fitting.network_posterior import NetworkPosterior


@dataclass(frozen=True)
class Fit:
    """The last iterates, as an equal-weight posterior, and the rows that determine a floor."""

    iterates: NetworkPosterior
    problem: Problem
    """The problem with all training rows, including the `validation` rows."""
    validation: Split | None
    """Rows held out to choose among several floors."""

    def samples(self, bounds: Bounds) -> Samples:
        """Return the iterates with the box around them."""
        fit = self.iterates
        return Samples(
            fit.network, fit.likelihood, fit.weights, fit.buffers, fit.noise_variance, bounds
        )
