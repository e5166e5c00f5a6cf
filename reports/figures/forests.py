"""Rows of intervals, such as scores by method, that a page draws beside their names and values."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from matplotlib.ticker import MaxNLocator

from bnnbench.reports.figures.canvas import FARTHEST
from bnnbench.reports.figures.limits import robust_limits
from bnnbench.reports.judge.measures import Judged
from bnnbench.reports.judge.over_sets.verdict import Verdict
from bnnbench.reports.judge.ranks import Ranks
from bnnbench.reports.judge.table import Cell
from bnnbench.reports.style import labels
from bnnbench.reports.style.families import PLAIN
from bnnbench.reports.style.numbers import significant

WIDTH = 1000
"""Units from the left end of an axis to the right one."""
MARGIN = 0.04
"""Share of the axis left free at either end."""
ALL = 10**6
FEWEST_ROWS = 2
"""A figure of fewer rows compares nothing."""


@dataclass(frozen=True)
class Row:
    """A method or a question: an interval around a value, its value as text and its state."""

    name: str
    low: float
    middle: float
    high: float
    text: str
    state: str = ""
    """A state of a decision or the kind of a cell, by which it is drawn: "worse" is hollow."""


@dataclass(frozen=True)
class Forest:
    """Rows on a common axis, the best first."""

    title: str
    note: str
    rows: tuple[Row, ...]
    limits: tuple[float, float]
    """The ends of the axis; the rows' values may lie beyond."""
    better: str
    """The direction of the better end: "left" or "right"."""
    left_out: int = 0
    """The number of further rows."""
    ticks: tuple[float, ...] = ()

    def at(self, value: float) -> int:
        """Return the place of a value on the axis, at an end if it lies beyond."""
        start, end = self.limits
        share = (value - start) / ((end - start) or 1.0)
        return round(WIDTH * min(max(MARGIN + (1 - 2 * MARGIN) * share, 0.0), 1.0))

    def beyond(self, row: Row) -> str:
        """Return the side, "left" or "right", on which a row's value lies beyond; "" if neither."""
        if not math.isfinite(row.middle):
            return ""
        place = self.at(row.middle)
        return "left" if place <= 0 else "right" if place >= WIDTH else ""

    def line(self, row: Row) -> str:
        """Return the path of a row's interval; "" if it is unknown."""
        known = math.isfinite(row.low) and math.isfinite(row.high)
        return f"M{self.at(row.low)} 5H{self.at(row.high)}" if known else ""


def of_scores(
    result: Judged, where: str, most: int = ALL, named: Sequence[str] = PLAIN
) -> Forest | None:
    """Return the mean scores with their 95 % intervals; None for fewer than two methods.

    The first of the `named` methods has a row even if it is not among the `most` best.
    """
    column = result.column
    rows = [
        _row(method, cell, column.scale)
        for method, cell in result.ordered
        if math.isfinite(cell.mean)
    ]
    unit = f" ({column.unit})" if column.unit else ""
    note = "95 % intervals of the means; hollow: shown to be worse, by differences on equal runs."
    title = f"{labels.sentence(result.name)}{unit}, {where}"
    return _forest(title, note, rows, bool(column.higher_is_better), most, named)


def _row(method: str, cell: Cell, scale: float) -> Row:
    half = math.nan if cell.half_width is None else cell.half_width
    low, middle, high = (scale * value for value in (cell.mean - half, cell.mean, cell.mean + half))
    state = "apart" if cell.standing.excluded else str(cell.standing.state or "")
    return Row(method, low, middle, high, significant(middle), state)


def of_verdict(verdict: Verdict, name: str, most: int = ALL) -> Forest | None:
    """Return the mean shares of the gap over data sets that count as random."""
    rows = [
        Row(
            p.method,
            p.share - p.half_width,
            p.share,
            p.share + p.half_width,
            f"{p.share:.2f}",
            "worse" if p.worse else "",
        )
        for p in verdict.places
    ]
    title = f"Share of the gap by {name}, mean over {len(verdict.league.sets)} data sets"
    note = (
        "0: a constant prediction, 1: the best method of a data set. 95 % intervals over data "
        "sets; hollow: shown to be worse, by differences on equal data sets."
    )
    return _forest(title, note, rows, True, most)


def of_ranks(ranks: Ranks, most: int = ALL) -> Forest | None:
    """Return the mean ranks over data sets, 1 is best."""
    rows = [
        Row(p.method, p.low, p.rank, p.high, f"{p.rank:.1f}", "worse" if p.worse else "")
        for p in ranks.places
    ]
    title = f"Mean rank by {ranks.name} over {len(ranks.sets)} data sets"
    tell = (
        "hollow: ranks worse than the first."
        if ranks.can_tell
        else "so few data sets cannot tell two ranks apart."
    )
    return _forest(title, f"1 is best. 95 % intervals; {tell}", rows, False, most)


def _forest(
    title: str,
    note: str,
    rows: Sequence[Row],
    higher_is_better: bool,
    most: int,
    named: Sequence[str] = PLAIN,
) -> Forest | None:
    """Return the best rows and the first named one, on an axis that no outlier stretches."""
    if len(rows) < FEWEST_ROWS:
        return None
    known = next((row for name in named for row in rows if row.name == name), None)
    shown = [*rows[:most]]
    if known and known not in shown:
        shown = [*shown[:-1], known]
    low, high = robust_limits(_ends(shown), higher_is_better)
    limits = max(low, -FARTHEST), min(high, FARTHEST)
    better = "right" if higher_is_better else "left"
    return Forest(
        *(title, note, tuple(shown), limits, better, len(rows) - len(shown)), ticks_in(limits)
    )


def _ends(rows: Iterable[Row]) -> list[float]:
    return [value for row in rows for value in (row.low, row.middle, row.high)]


def ticks_in(limits: tuple[float, float]) -> tuple[float, ...]:
    """Return a few round values between two limits."""
    low, high = sorted(limits)
    values = MaxNLocator(3).tick_values(low, high)
    return tuple(float(f"{value:.6g}") for value in values if low <= value <= high)


def of_places(
    title: str, note: str, places: Mapping[str, tuple[float, float, str, str]]
) -> Forest | None:
    """Return open places by question, from question → worst and best share, text and state.

    A share is that of the other methods behind it: 1 is the first place.
    """
    rows = tuple(
        Row(name, low, high if low == high else math.nan, high, text, state)
        for name, (low, high, text, state) in places.items()
    )
    return Forest(title, note, rows, (0.0, 1.0), "right") if rows else None
