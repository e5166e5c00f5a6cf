"""Settings that searches often choose at a bound of their space, over all data sets."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from bnnbench.methods.tuning.space import last_part
from bnnbench.reports.judge.summaries.tuning import Tuning
from bnnbench.reports.sections.base import Listing

LEAST = 0.25
"""Share of searches at one bound from which a setting is listed."""

HEADINGS = ("Method", "Setting", "Searches", "Lowest tenth or shortest", "Highest tenth or longest")


def edges(searches: Mapping[str, Sequence[Tuning]], where: str) -> Listing | None:
    """Return how often settings were chosen at each bound; None if no setting often was.

    Folds of a data set share their trials, so that a high share may say where one good trial is.
    """
    rows = tuple(row for method, of_sets in searches.items() for row in _rows(method, of_sets))
    if not rows:
        return None
    return Listing(f"Choices at the bounds of spaces on {where}", "edges", HEADINGS, rows, (0, 1))


def _rows(method: str, of_sets: Sequence[Tuning]) -> Iterator[tuple[str, ...]]:
    sides = _sides(of_sets)
    for setting in dict.fromkeys(setting for setting, _ in sides):
        low, inside, high = (sides[setting, side] for side in (-1, 0, 1))
        count = low + inside + high
        if max(low, high) >= LEAST * count:
            name = last_part(setting).replace("_", " ")
            yield method, name, str(count), f"{low / count:.0%}", f"{high / count:.0%}"


def _sides(of_sets: Sequence[Tuning]) -> Counter[tuple[str, int]]:
    """Return (setting, side) → number of searches, one for each fold."""
    counts: Counter[tuple[str, int]] = Counter()
    for tuning in of_sets:
        first = {choice.record.fold: choice for choice in reversed(tuning.choices)}
        counts.update(item for choice in first.values() for item in choice.sides.items())
    return counts
