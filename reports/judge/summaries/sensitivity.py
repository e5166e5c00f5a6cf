"""Sensitivity to each searched setting: held-out scores of all trials against its values."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64

from bnnbench.methods.tuning.search import Search
from bnnbench.methods.tuning.space import last_part
from bnnbench.reports.judge.summaries.tuning import Tuning, plain_setting

LENGTH = "length"
"""The name of the number of epochs, passes or rounds, as a setting."""


@dataclass(frozen=True)
class Sensitivity:
    """The scores of a method's trials as a function of one setting."""

    setting: str
    """The last part of its path, or `LENGTH`."""
    ends: tuple[str, str]
    """The tried values at the lowest and at the highest place."""
    places: Float64[np.ndarray, "folds trials"]
    """The quantile of the trial's value in its search distribution, from 0 to 1."""
    deficits: Float64[np.ndarray, "folds trials"]
    """Held-out log likelihood minus the fold's best, in nats; minus infinity for a trial that
    diverged."""

    def envelope(self) -> Float64[np.ndarray, " cells"]:
        """Return the best deficit in each bin of equal width, averaged over folds.

        There are half as many bins as trials, so that each holds two: trials are spread evenly over
        every setting. NaN if all trials of a bin diverged in some fold.
        """
        cells = max(1, self.places.shape[1] // 2)
        part = np.minimum((self.places * cells).astype(int), cells - 1)
        best = np.full((len(self.places), cells), -np.inf)
        for fold, parts in enumerate(part):
            np.maximum.at(best[fold], parts, self.deficits[fold])
        means = best.mean(0)
        return np.where(np.isfinite(means), means, np.nan)


def sensitivities(tuning: Tuning) -> list[Sensitivity]:
    """Return the sensitivity to each setting of a method, in the order of its space, length last.

    A trial counts at its best length. For the sensitivity to length, each length counts at its best
    settings. Searches by successive halving are left out: their scores have unequal lengths.
    """
    by_fold = {c.record.fold: c.search for c in tuning.choices if not c.is_halved}
    searches = list(by_fold.values())
    if not searches or tuning.trials < 2:
        return []
    over_settings = [_over(path, searches) for path in searches[0].places[0]]
    over_length = [_over_length(searches)] if len(searches[0].lengths) > 1 else []
    return over_settings + over_length


def _over(path: str, searches: Sequence[Search]) -> Sensitivity:
    places = np.array([[trial[path] for trial in search.places] for search in searches])
    order = np.argsort(places[0])
    values = [searches[0].settings[int(trial)][path] for trial in (order[0], order[-1])]
    deficits = np.array([search.scores.max(1) - search.scores.max() for search in searches])
    return Sensitivity(last_part(path), (_text(values[0]), _text(values[1])), places, deficits)


def _over_length(searches: Sequence[Search]) -> Sensitivity:
    lengths = searches[0].lengths
    places = np.tile(np.linspace(0, 1, len(lengths)), (len(searches), 1))
    deficits = np.array([search.scores.max(0) - search.scores.max() for search in searches])
    return Sensitivity(LENGTH, (str(lengths[0]), str(lengths[-1])), places, deficits)


def _text(value: object) -> str:
    plain = plain_setting(value)
    if not isinstance(plain, float):
        return str(plain)
    return f"{plain:.0f}" if abs(plain) >= 100 else f"{plain:.2g}"
