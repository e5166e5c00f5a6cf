"""Problems with a known closed-form answer."""

import numpy as np


def linear_posterior(
    inputs: np.ndarray,
    targets: np.ndarray,
    noise_variance: float | np.ndarray,
    mean: np.ndarray,
    variance: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and covariance of the weights of Bayesian linear regression.

    inputs (points, weights), including a column of ones for the bias; the prior is a diagonal
    Gaussian; the noise variance may differ between points.
    """
    scaled = inputs / np.broadcast_to(noise_variance, len(inputs))[:, None]
    covariance = np.linalg.inv(inputs.T @ scaled + np.diag(1 / variance))
    return covariance @ (scaled.T @ targets + mean / variance), covariance


def coupled_forces(
    forces: np.ndarray, held: np.ndarray, steepness: np.ndarray, coupling: np.ndarray
) -> np.ndarray:
    """Return h of (I + diag(g) C_off) (h - held) = forces - held, by a dense solve per output.

    forces, held, steepness (g): (rows, outputs); coupling: (outputs, rows, rows), its diagonal
    ignored. A row of g = 0 keeps its force.
    """
    solved = np.empty_like(forces)
    for output, matrix in enumerate(coupling):
        between = matrix - np.diag(np.diag(matrix))
        system = np.eye(len(matrix)) + steepness[:, output, None] * between
        step = np.linalg.solve(system, forces[:, output] - held[:, output])
        solved[:, output] = held[:, output] + step
    return solved


def row_coupling(
    inputs: np.ndarray,
    weight_variance: np.ndarray,
    bias_variance: np.ndarray,
    input_variance: np.ndarray | None = None,
    weight_mean: np.ndarray | None = None,
) -> np.ndarray:
    """Return the covariance of the rows' outputs, (outputs, rows, rows).

    The covariance by the weights of the layer; in a later layer (input variances and weight means
    given) each row is scaled by e = sqrt(1 + Va/Vw), to include the effect of the layers below.
    """
    coupling = np.einsum("ni,oi,mi->onm", inputs, weight_variance, inputs)
    coupling += bias_variance[:, None, None]
    if input_variance is not None and weight_mean is not None:
        below = input_variance @ (weight_mean**2 + weight_variance).T
        own = inputs**2 @ weight_variance.T + bias_variance
        enlarged = np.sqrt(1 + below / own).T
        coupling *= enlarged[:, :, None] * enlarged[:, None, :]
    return coupling
