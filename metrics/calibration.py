r"""Calibration errors of categorical predictions: do probabilities equal frequencies?

All are weighted distances between confidence and accuracy within bins; only the bins differ.
`bnnbench.metrics.partition` computes the two kinds of bins that depend on the predictions.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float64, Int
from torch import Tensor

from bnnbench.methods.predictions.base import HasProbabilities
from bnnbench.metrics.partition import minimum_variance_bins, simplex_bins
from bnnbench.metrics.scores import accuracy
from bnnbench.metrics.uncertainty import confidence

BINS = 15


@dataclass(frozen=True)
class ReliabilityCurve:
    """Mean confidence, accuracy and number of points of each bin; NaN for an empty bin."""

    confidence: Float64[Tensor, " bins"]
    accuracy: Float64[Tensor, " bins"]
    count: Int[Tensor, " bins"]

    @property
    def gap(self) -> Float64[Tensor, " bins"]:
        """The distance between confidence and accuracy; 0 in an empty bin."""
        return torch.where(self.count > 0, (self.accuracy - self.confidence).abs(), 0.0)

    @property
    def mean_gap(self) -> Float64[Tensor, ""]:
        """The mean gap over points: the expected calibration error."""
        return (self.count * self.gap).sum() / self.count.sum()


def reliability_curve(
    prediction: HasProbabilities, target: Int[Tensor, " points"], bins: int = BINS
) -> ReliabilityCurve:
    """Return the curve over bins (lo, hi] of equal width; the first also holds 0."""
    top = confidence(prediction)
    return _curve(top, accuracy(prediction, target), _equal_width(top, bins), bins)


def expected_calibration_error(
    prediction: HasProbabilities, target: Int[Tensor, " points"], bins: int = BINS
) -> Float64[Tensor, ""]:
    r"""Return $\sum_b \tfrac{n_b}{N} |acc_b - conf_b|$ over bins of equal width, 15 by default.

    Source: Guo et al. (2017), "On calibration of modern neural networks".
    """
    return reliability_curve(prediction, target, bins).mean_gap


def maximum_calibration_error(
    prediction: HasProbabilities, target: Int[Tensor, " points"], bins: int = BINS
) -> Float64[Tensor, ""]:
    """Return the maximum gap of the bins of `ece`; it is noisy if a bin has few points."""
    return reliability_curve(prediction, target, bins).gap.max()


def adaptive_calibration_error(
    prediction: HasProbabilities, target: Int[Tensor, " points"], bins: int = BINS
) -> Float64[Tensor, ""]:
    """Return the expected calibration error over bins of equal mass, 15 by default.

    Sorted confidences are cut as `numpy.array_split` does; ties keep the order of the points.
    """
    top, order = confidence(prediction).sort(stable=True)
    sizes = [len(part) for part in torch.arange(len(top)).tensor_split(bins)]
    index = torch.arange(bins).repeat_interleave(torch.tensor(sizes)).to(top.device)
    return _curve(top, accuracy(prediction, target)[order], index, bins).mean_gap


def minimum_variance_calibration_error(
    prediction: HasProbabilities, target: Int[Tensor, " points"], bins: int = 20
) -> Float64[Tensor, ""]:
    """Return the expected calibration error over bins of minimum variance within, 20 by default.

    Source: the text of appendix C of the message passing paper (000); the numbers in its
    tables come from `simplex_calibration_error`.
    """
    top = confidence(prediction)
    index = minimum_variance_bins(top, bins)
    return _curve(top, accuracy(prediction, target), index, bins).mean_gap


def classwise_calibration_error(
    prediction: HasProbabilities, target: Int[Tensor, " points"], bins: int = BINS
) -> Float64[Tensor, ""]:
    """Return the mean over classes of the binary calibration error, with 15 bins by default.

    Source: Nixon et al. (2019), "Measuring calibration in deep learning".
    """
    errors = []
    for label, log_probs in enumerate(prediction.mixture_log_probs.unbind(1)):
        probs = log_probs.exp()
        hits = (target == label).double()
        errors.append(_curve(probs, hits, _equal_width(probs, bins), bins).mean_gap)
    return torch.stack(errors).mean()


def simplex_calibration_error(
    prediction: HasProbabilities, target: Int[Tensor, " points"], minimum_size: int = 20
) -> Float64[Tensor, ""]:
    r"""Return $\sum_b \tfrac{n_b}{N} \lVert \bar p_b - f_b \rVert^2$, f being class frequencies.

    The bins cut the probability simplex until they cannot be halved into `minimum_size` points.
    No confidence is involved, and the distance is squared: compare it only with the tables of the
    message passing paper (000), whose public code computes it.
    """
    probs = prediction.mixture_log_probs.exp()
    index = simplex_bins(probs, minimum_size).to(probs.device)
    bins = int(index.max()) + 1
    excess = probs.scatter_add_(1, target.long()[:, None], probs.new_full((len(probs), 1), -1.0))
    sums = torch.zeros(bins, probs.shape[1], dtype=probs.dtype, device=probs.device)
    sums.index_add_(0, index, excess)
    count = index.bincount(minlength=bins)
    return (sums.square().sum(1) / count).sum() / len(probs)


def _equal_width(values: Tensor, bins: int) -> Tensor:
    """Return the number of each value's bin (i/bins, (i+1)/bins]; 0 belongs to the first."""
    edges = torch.arange(bins + 1, dtype=torch.float64, device=values.device) / bins
    return (torch.bucketize(values, edges) - 1).clamp(0, bins - 1)


def _curve(confidence: Tensor, hits: Tensor, index: Tensor, bins: int) -> ReliabilityCurve:
    count = index.bincount(minlength=bins)
    return ReliabilityCurve(
        index.bincount(confidence, minlength=bins) / count,
        index.bincount(hits, minlength=bins) / count,
        count,
    )
