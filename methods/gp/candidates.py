"""The forms of a Gaussian process from which held-out rows choose."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float64, Int
from sklearn.gaussian_process import kernels as gp_kernels

from bnnbench.methods.base import InferenceDiverged
from bnnbench.methods.gp.exact import SMOOTHNESS, Regressor
from bnnbench.methods.gp.map_kernels import Kernel, Objective, most_probable
from bnnbench.methods.gp.target_units import TargetUnits, Values

kernels: Any = gp_kernels  # its stubs allow no arrays of length scales


@dataclass(frozen=True)
class TrainingRows:
    """Inputs and targets in double precision, and the noise's standard deviation if known."""

    inputs: Float64[np.ndarray, "rows features"]
    targets: Values
    noise_std: float | None

    def __len__(self) -> int:
        return len(self.targets)

    def some(self, rows: Int[np.ndarray, " some"]) -> "TrainingRows":
        """Return these rows."""
        return TrainingRows(self.inputs[rows], self.targets[rows], self.noise_std)


@dataclass(frozen=True)
class Candidate:
    """The form of a Gaussian process."""

    correlation: str
    """A name in `evidence.CORRELATIONS`."""
    shared: bool
    """True if all features have the same length scale."""
    zero: float | None
    """Lower end of the targets, if the process models their logarithm."""

    @property
    def name(self) -> str:
        """The name in diagnostics."""
        lengths = "one_length" if self.shared else "length_per_feature"
        return f"{self.correlation}_{lengths}{'' if self.zero is None else '_of_log'}"

    def learned(
        self, rows: TrainingRows, units: TargetUnits, precision: float, starts: int
    ) -> Kernel:
        """Return the most probable kernel given the rows; a shared length has a start more.

        Raises `InferenceDiverged` if no covariance is positive definite.
        """
        noise_std = None if rows.noise_std is None else rows.noise_std / units.std
        targets = units.standardised(rows.targets)
        objective = Objective(self.correlation, self.shared, rows.inputs, targets, noise_std)
        root = math.sqrt(rows.inputs.shape[1])
        places = [(root, 0.3), (math.e * root, 0.7)][:starts]
        places += [(root / 2, 0.1)] if self.shared else []
        begins = [objective.start(*place) for place in places]
        return objective.kernel(most_probable(objective, begins, precision))


def conditioned(
    kernel: Kernel, inputs: Float64[np.ndarray, "rows features"], targets: Values
) -> Any:
    """Return a fitted regressor of scikit-learn, without noise in its predictions.

    Raises `InferenceDiverged` if covariances are not positive definite.
    """
    if kernel.correlation == "rbf":
        shape = kernels.RBF(kernel.lengths)
    else:
        shape = kernels.Matern(kernel.lengths, nu=SMOOTHNESS[kernel.correlation])
    signal = kernels.ConstantKernel(kernel.variance) * shape
    try:
        return Regressor(signal, alpha=kernel.noise, optimizer=None).fit(inputs, targets)
    except np.linalg.LinAlgError as failure:
        raise InferenceDiverged(f"covariances are not positive definite: {failure}") from None
