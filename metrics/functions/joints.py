"""Joint scores of several points, which need draws of whole functions."""

import torch
from jaxtyping import Float64, Int
from torch import Tensor

from bnnbench.methods.predictions.base import CannotAnswer
from bnnbench.metrics.functions.marginals import wasserstein2_of_draws
from bnnbench.metrics.functions.values import FunctionValues, Truth, require_points

Score = Float64[Tensor, ""]


def joint_kl(prediction: FunctionValues, truth: Truth) -> Score:
    """Return the mean over groups of KL[p || q] between joint Gaussians of their targets, in nats.

    Each is N(m, C + σ²I), with the mean m and the covariance C of the draws of functions and the
    variance σ² of the noise.
    """
    _require_functions(prediction, truth)
    p, q = (_moments(functions, truth.groups) for functions in (truth.functions, prediction))
    return gaussian_kl(*p, *q).mean()


def gaussian_kl(
    p_mean: Float64[Tensor, "groups size"],
    p_covariance: Float64[Tensor, "groups size size"],
    q_mean: Float64[Tensor, "groups size"],
    q_covariance: Float64[Tensor, "groups size size"],
) -> Float64[Tensor, " groups"]:
    r"""Return $\tfrac12 (\mathrm{tr}(C_q^{-1} C_p) + d^T C_q^{-1} d - k + \log|C_q|/|C_p|)$."""
    root = torch.linalg.cholesky(q_covariance)
    gap = torch.cholesky_solve((q_mean - p_mean)[..., None], root)[..., 0]
    trace = torch.cholesky_solve(p_covariance, root).diagonal(dim1=-2, dim2=-1).sum(-1)
    quadratic = (gap * (q_mean - p_mean)).sum(-1)
    logs = torch.linalg.slogdet(q_covariance)[1] - torch.linalg.slogdet(p_covariance)[1]
    return (trace + quadratic - p_mean.shape[-1] + logs) / 2


def sliced_w2(prediction: FunctionValues, truth: Truth) -> Score:
    r"""Return the root mean square over directions t of W2 of $t^T (f - m_p) / s_p$.

    m_p and s_p are the reference's means and standard deviations.
    """
    _require_functions(prediction, truth)
    p, q = truth.functions, prediction
    first, second = (((f.means - p.mean) / p.std) @ truth.directions.T for f in (q, p))
    return wasserstein2_of_draws(first, second).square().mean().sqrt()


def correlation_error(prediction: FunctionValues, truth: Truth) -> Score:
    """Return the mean over pairs of points of the absolute difference between correlations.

    A point at which all draws of the prediction agree has correlation 0 with all others.
    """
    _require_functions(prediction, truth)
    p, q = (_correlations(functions.means) for functions in (truth.functions, prediction))
    above = torch.triu_indices(*p.shape, offset=1)
    return (q - p).abs()[above[0], above[1]].mean()


def _moments(
    functions: FunctionValues, groups: Int[Tensor, "groups size"]
) -> tuple[Float64[Tensor, "groups size"], Float64[Tensor, "groups size size"]]:
    """Return mean and covariance of each group's targets."""
    values = functions.means[:, groups]
    mean = values.mean(0)
    centred = values - mean
    covariance = torch.einsum("sgi,sgj->gij", centred, centred) / len(values)
    noise = functions.noise_std**2 * torch.eye(groups.shape[1], dtype=torch.float64)
    return mean, covariance + noise


def _correlations(f: Float64[Tensor, "draws points"]) -> Float64[Tensor, "points points"]:
    centred = f - f.mean(0)
    norms = centred.norm(dim=0)
    scaled = centred / torch.where(norms > 0, norms, 1.0)
    return scaled.T @ scaled


def _require_functions(prediction: FunctionValues, truth: Truth) -> None:
    require_points(prediction, truth)
    if len(prediction.means) == 1 or not prediction.are_draws:
        raise CannotAnswer("needed several draws of whole functions; got marginals or one function")
