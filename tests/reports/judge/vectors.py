"""The sets of the specification's test vectors."""

import numpy as np

_METHODS, _SEEDS = np.arange(10)[:, None], np.arange(3)[None]
_MEANS = np.array([0.50, 0.60, 0.61, 0.62, 0.63, 0.64, 0.65, 0.515, 0.505, 0.70])[:, None]
_STDS = np.where(_METHODS == 6, 0.08, 0.01)

SET_A = (
    _MEANS
    + 0.02 * np.cos(2 * _SEEDS)
    + _STDS
    * np.sin(1 + 2.7 * _METHODS + 1.3 * _SEEDS + 0.9 * _METHODS * _SEEDS + 0.37 * _METHODS**2)
)
"""Ten methods, one of them erratic, by three seeds."""

_FOLDS = np.arange(10)[None]

SET_B = (
    np.array([3, 3.02, 3.05, 3.6])[:, None]
    + 0.3 * np.cos(_FOLDS)
    + 0.05 * np.array([1, 0.1, 0.3, 1])[:, None] * np.sin(1 + 1.7 * _METHODS[:4] + 2.1 * _FOLDS)
)
"""Four methods by ten folds with an overlap of 1/9."""

_POINTS, _RUNS = np.arange(6)[None], np.arange(3)[:, None]

SET_C = np.stack(
    [
        np.sin(1 + _POINTS) + 0.1 * np.cos(2 * _RUNS) + 0.2 * np.sin(3 * _RUNS + 2 * _POINTS),
        0.5
        + np.sin(1.2 + _POINTS)
        + 0.15 * np.cos(2 * _RUNS + 1)
        + 0.2 * np.cos(2 * _RUNS + _POINTS),
    ]
)
"""Two methods by three seeds by six points."""
