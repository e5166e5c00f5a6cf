"""The methods compared in a column, their common runs, and the excluded methods."""

import math
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Literal

from bnnbench.metrics.statistics import Samples
from bnnbench.reports.style.words import share_of

Kind = Literal["constant", "unfinished", "not a number", "too few runs"]
Run = tuple[int, int]
"""fold and seed"""

FEWEST = 3
"""With fewer folds (or, with only one fold, fewer seeds), nothing is tested."""

LETTERS: Mapping[Kind, str] = {
    "constant": "c",
    "unfinished": "x",
    "not a number": "n",
    "too few runs": "f",
}
"""Kind of exclusion → the letter shown in brackets after a number."""

LEGEND = "c constant, x a run failed or diverged, n not a number, f too few runs"


@dataclass(frozen=True)
class Exclusion:
    """Why a method is not compared: the kind of reason, and its text."""

    kind: Kind
    reason: str

    @property
    def letter(self) -> str:
        """The letter that stands for the kind."""
        return LETTERS[self.kind]


@dataclass(frozen=True)
class Participants:
    """The compared methods and their runs, and why other methods are excluded."""

    methods: tuple[str, ...]
    """In the order of the table."""
    common: tuple[Run, ...]
    left_out: Mapping[str, Exclusion]


def participants(
    samples: Mapping[str, Samples],
    barred: Mapping[str, Exclusion],
    asked: Set[Run],
    by_fold: bool,
) -> Participants:
    """Return the methods to compare, on the runs that all of them have.

    `barred` methods are excluded because of their runs; `asked` are the runs requested of any
    method. While the common runs are fewer than half of those requested, or fewer than three, the
    method that lacks the most runs is left out; in a tie, the later one in the table.
    """
    left_out = {name: barred[name] for name in samples if name in barred}
    for name, values in samples.items():
        if name not in left_out and not all(map(math.isfinite, values.values())):
            left_out[name] = Exclusion("not a number", "a score is not finite")
    methods = [name for name, values in samples.items() if values and name not in left_out]
    fewest = min(FEWEST, _replicates(asked, by_fold))
    while methods:
        common = set.intersection(*(set(samples[name]) for name in methods))
        if 2 * len(common) >= len(asked) and _replicates(common, by_fold) >= fewest:
            return Participants(tuple(methods), tuple(sorted(common)), left_out)
        lacking = [len(asked - samples[name].keys()) for name in methods]
        most = max(range(len(methods)), key=lambda k: (lacking[k], k))
        name = methods.pop(most)
        reason = f"has {share_of(len(samples[name]), len(asked), 'run')}"
        left_out[name] = Exclusion("too few runs", reason)
    return Participants((), (), left_out)


def _replicates(runs: Set[Run], by_fold: bool) -> int:
    return len({fold for fold, _ in runs}) if by_fold else len(runs)


def candidates(
    samples: Mapping[str, Samples], methods: Sequence[str], common: Sequence[Run]
) -> dict[str, tuple[str, ...]]:
    """Return first method → all methods with the same scores on every common run."""
    alike: dict[tuple[float, ...], list[str]] = {}
    for name in methods:
        alike.setdefault(tuple(samples[name][run] for run in common), []).append(name)
    return {names[0]: tuple(names) for names in alike.values()}
