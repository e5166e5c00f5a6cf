"""The result of a search on held-out rows; its ranking determines the choice.

Reports read it without importing torch.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from jaxtyping import Float64

TIE = 1e-4
"""Scores, in nats, are equal if they round to the same multiple of this."""

DIGITS = 9
"""Significant digits of stored numbers."""


@dataclass(frozen=True)
class Search:
    """The settings and lengths tried, and their scores on held-out rows.

    Scores are in the units of the problem's targets. They are NaN if a fit diverged or, in a search
    by halving, was not made.
    """

    settings: tuple[Mapping[str, object], ...]
    """Settings of each trial, by path."""
    places: tuple[Mapping[str, float], ...]
    """Position of each trial's settings in their distributions, from 0 to 1, by path."""
    lengths: tuple[int | None, ...]
    """Epochs, passes or rounds, ascending; a single None for a method without a length."""
    rows: tuple[int, ...]
    """Number of rows in each held-out block."""
    log_likelihood: Float64[np.ndarray, "trials lengths blocks"]
    """Mean log density or probability of a block's rows, in nats, with the noise or temperature
    below."""
    error: Float64[np.ndarray, "trials lengths blocks"]
    """Mean squared error of a block's rows, or share of wrong labels."""
    noise_variance: Float64[np.ndarray, "trials lengths"]
    """Noise of held-out rows, in squared target units; NaN if the method's own is used."""
    temperature: Float64[np.ndarray, "trials lengths"]
    """Temperature of class probabilities; NaN if the method's own probabilities are used."""
    seconds: Float64[np.ndarray, "trials lengths"]
    """Wall-clock seconds of the fits without each block."""

    @property
    def scores(self) -> Float64[np.ndarray, "trials lengths"]:
        """The mean log likelihood over all held-out rows; minus infinity if it is not finite."""
        weights = np.array(self.rows) / sum(self.rows)
        means = (self.log_likelihood * weights).sum(2)
        return np.where(np.isfinite(means), means, -np.inf)

    @property
    def best_lengths(self) -> list[int | None]:
        """Index in `lengths` of each trial's best length; None if all its fits diverged."""
        return [
            int(np.argmax(row)) if np.isfinite(row).any() else None for row in _rounded(self.scores)
        ]

    @property
    def ranking(self) -> list[int]:
        """The trials that did not diverge, best first, each at its best length.

        Equal scores go to the shorter length, then to the lower trial.
        """
        scores, best = _rounded(self.scores), self.best_lengths
        keys = [(-scores[t, b], b, t) for t, b in enumerate(best) if b is not None]
        return [trial for _, _, trial in sorted(keys)]

    def as_data(self) -> dict[str, object]:
        """Return plain data that JSON can hold; a NaN becomes None."""
        return {field.name: _plain(getattr(self, field.name)) for field in fields(self)}

    @classmethod
    def from_data(cls, data: Mapping[str, object]) -> "Search":
        """Return the search described by these data; raises ValueError for any other data."""
        try:
            if "temperature" not in data:  # stored before temperatures existed
                data = dict(data) | {
                    "temperature": np.full_like(np.array(data["noise_variance"], float), np.nan)
                }
            values = {field.name: data[field.name] for field in fields(cls)}
            arrays: dict[str, Any] = {n: np.array(values[n], dtype=float) for n in _ARRAYS}
            plain: dict[str, Any] = {n: _tuples(v) for n, v in values.items()}
            search = cls(**plain | arrays)
            shape = len(search.settings), len(search.lengths), len(search.rows)
            if not all(isinstance(one, Mapping) for one in (*search.settings, *search.places)):
                raise TypeError("settings and places must be mappings")
            wrong = [n for n, a in arrays.items() if a.shape != shape[: a.ndim] or a.ndim < 2]
        except (KeyError, TypeError) as error:
            raise ValueError(f"not a search: {error!r}") from error
        if wrong:
            raise ValueError(f"not a search: wrong shape of {', '.join(wrong)}")
        return search


_ARRAYS = ("log_likelihood", "error", "noise_variance", "temperature", "seconds")


def _rounded(scores: Float64[np.ndarray, "..."]) -> Float64[np.ndarray, "..."]:
    return np.round(scores / TIE)


def _plain(value: object) -> object:
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, Mapping):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}") if np.isfinite(value) else None
    return value


def _tuples(value: object) -> object:
    if isinstance(value, Mapping):
        return {name: _tuples(item) for name, item in value.items()}
    return tuple(map(_tuples, value)) if isinstance(value, list) else value
