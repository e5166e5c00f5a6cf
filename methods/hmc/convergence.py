r"""Agreement of chains, and the effective number of their draws.

All estimators take draws of many quantities at once and work on ranks, so that no moments need
to exist. Source: Vehtari, Gelman, Simpson, Carpenter and Bürkner (2021),
"Rank-Normalization, Folding, and Localization: An Improved R-hat".
"""

import numpy as np
from jaxtyping import Bool, Float
from scipy.fft import next_fast_len
from scipy.special import ndtri

Draws = Float[np.ndarray, "chains draws quantities *more"]
Values = Float[np.ndarray, "quantities *more"]

LEAST_DRAWS = 4
"""Minimum number of draws per chain: its halves need a variance."""


def split_r_hat(draws: Draws) -> Values:
    r"""Return the larger of the rank-normalised split R-hats of the draws and of the folded draws.

    $$ \hat R = \sqrt{\frac{n - 1}{n} + \frac{B}{n W}} $$

    over half chains of n draws, where W is the mean of their variances and B/n the variance of
    their means. Folding, |x - median(x)|, reveals chains of equal centre that differ in scale. The
    result is 1 if all draws are equal, infinite for chains that differ and never move, and NaN if
    a draw is not finite.
    """
    finite, draws = _finite(draws)
    halves = split(draws)
    folded = np.abs(halves - np.median(halves, axis=(0, 1)))
    larger = np.maximum(_r_hat(normal_scores(halves)), _r_hat(normal_scores(folded)))
    return np.where(finite, larger, np.nan)


def ess_bulk(draws: Draws) -> Values:
    """Return the effective number of draws for the centre, from normal scores.

    NaN if a draw is not finite.
    """
    finite, draws = _finite(draws)
    return np.where(finite, effective_sample_size(normal_scores(split(draws))), np.nan)


def ess_tail(draws: Draws) -> Values:
    """Return the smaller of the effective numbers of draws for the 5 % and 95 % quantiles.

    NaN if a draw is not finite.
    """
    finite, draws = _finite(draws)
    low, high = np.quantile(draws, (0.05, 0.95), axis=(0, 1))
    sizes = (effective_sample_size(split((draws <= q).astype(float))) for q in (low, high))
    return np.where(finite, np.minimum(*sizes), np.nan)


def effective_sample_size(draws: Draws) -> Values:
    r"""Return $MN / \tau$ for M chains of N draws, without transforming them.

    $$ \tau = 1 + 2 \sum_{t > 0} \rho_t, \qquad
       \rho_t = 1 - \frac{W - \bar c_t}{\tfrac{N - 1}{N} W + B / N} $$

    with the chains' mean autocovariances c_t. Sums over pairs of lags are made to decrease and
    end before the first negative one (Geyer, 1992). Chains that oscillate about their mean get
    at most $MN \log_{10} MN$ draws, and equal draws count as MN. NaN if a draw is not finite.
    """
    finite, draws = _finite(draws)
    chains, count = draws.shape[:2]
    total = chains * count
    covariances = _autocovariances(draws).mean(1)
    variance = covariances[0] + (draws.mean(1).var(0, ddof=1) if chains > 1 else 0.0)
    constant = variance == 0
    within = covariances[0] * count / (count - 1)
    correlations = 1 - (within - covariances) / np.where(constant, 1.0, variance)
    correlations[0] = 1.0
    time = np.maximum(_autocorrelation_time(correlations), 1 / np.log10(total))
    return np.where(finite, np.where(constant, total, total / time), np.nan)


def _finite(draws: Draws) -> tuple[Bool[np.ndarray, "quantities *more"], Draws]:
    """Return which quantities have finite draws only, and the draws with 0 for all others."""
    finite = np.asarray(np.isfinite(draws).all((0, 1)))
    return finite, np.where(finite, draws, 0.0)


def split(draws: Draws) -> Float[np.ndarray, "halves fewer quantities *more"]:
    """Return the halves of all chains as chains; a middle draw is omitted."""
    count = draws.shape[1]
    if count < LEAST_DRAWS:
        raise ValueError(f"needed at least {LEAST_DRAWS} draws of each chain; got {count}")
    return np.concatenate([draws[:, : count // 2], draws[:, -(count // 2) :]])


def normal_scores(draws: Draws) -> Draws:
    """Return the standard normal quantiles of the draws' ranks among all chains (Blom, 1958)."""
    from scipy.stats import rankdata  # scipy.stats takes long to load

    flat = draws.reshape(-1, *draws.shape[2:])
    ranks = rankdata(flat, axis=0)
    return ndtri((ranks - 0.375) / (len(flat) + 0.25)).reshape(draws.shape)


def _r_hat(draws: Draws) -> Values:
    count = draws.shape[1]
    between, within = draws.mean(1).var(0, ddof=1), draws.var(1, ddof=1).mean(0)
    constant = np.ptp(draws, axis=(0, 1)) == 0
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(constant, 1 / count, between / within)
    return np.sqrt((count - 1) / count + ratio)


def _autocovariances(draws: Draws) -> Float[np.ndarray, "lags chains quantities *more"]:
    """Return the autocovariances of each chain about its own mean, divided by N at every lag."""
    count = draws.shape[1]
    centred = draws - draws.mean(1, keepdims=True)
    spectrum = np.fft.rfft(centred, next_fast_len(2 * count), axis=1)
    power = spectrum.real**2 + spectrum.imag**2
    covariances = np.fft.irfft(power, next_fast_len(2 * count), axis=1)[:, :count] / count
    return np.moveaxis(covariances, 1, 0)


def _autocorrelation_time(correlations: Float[np.ndarray, "lags quantities *more"]) -> Values:
    """Return 1 + 2 Σ ρ over Geyer's monotone positive pairs; the lag after them counts once."""
    last = max(0, (len(correlations) - 3) // 2)
    pairs = correlations[: 2 * last : 2] + correlations[1 : 2 * last : 2]
    is_positive_so_far = np.logical_and.accumulate(pairs >= 0, axis=0)
    sums = np.where(is_positive_so_far, np.minimum.accumulate(pairs, axis=0), 0.0).sum(0)
    next_lag = np.take_along_axis(
        correlations, 2 * is_positive_so_far.sum(0, keepdims=True), axis=0
    )[0]
    return -1 + 2 * sums + np.maximum(next_lag, 0.0)
