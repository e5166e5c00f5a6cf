"""The figure beside a profile's answer: the best methods by the first main metric."""

from collections.abc import Mapping, Sequence

from bnnbench.reports.figures.canvas import FARTHEST, Drawing
from bnnbench.reports.figures.rows import Row, draw_values
from bnnbench.reports.judge.answers import Answer
from bnnbench.reports.judge.measures import Judged, judged
from bnnbench.reports.judge.ranks import Ranks
from bnnbench.reports.read.benchmarks import Benchmark
from bnnbench.reports.style import labels
from bnnbench.reports.style.palette import Style
from bnnbench.reports.style.words import counted

MOST = 12
"""Rows that fit beside an answer on the first screen."""


def opening(
    benchmarks: Sequence[Benchmark], answer: Answer, styles: Mapping[str, Style], anchor: str
) -> Drawing | None:
    """Return mean ranks over data sets if there are some, else the means on the first data set.

    None for fewer than two scored methods.
    """
    identifier = f"{anchor}-opening"
    if answer.ranks:
        return _ranks(answer.ranks, styles, identifier)
    metric = answer.main[0].metric if answer.main else ""
    first = next((j for b in benchmarks if metric and (j := judged(b, metric)) and j.cells), None)
    return _means(first, styles, identifier) if first else None


def _ranks(ranks: Ranks, styles: Mapping[str, Style], identifier: str) -> Drawing:
    rows = [Row(place.method, place.rank, place.low, place.high) for place in ranks.places]
    drawn = draw_values(rows[:MOST], styles, identifier, "mean rank (1 is best)")
    heading = f"{labels.sentence(ranks.name)} over {len(ranks.sets)} data sets"
    return drawn.under(heading, _caption(len(rows), "Lines are 95 % intervals."))


def _means(result: Judged, styles: Mapping[str, Style], identifier: str) -> Drawing | None:
    column, networks = result.column, result.benchmark.in_headlines.runs
    finite = {m: c for m, c in result.cells.items() if abs(c.mean) < FARTHEST}
    sign = -1 if column.higher_is_better else 1
    rows = []
    for method, cell in sorted(finite.items(), key=lambda item: sign * item[1].mean):
        mean, half = column.scale * cell.mean, column.scale * (cell.half_width or 0.0)
        half = half if abs(half) < FARTHEST else 0.0
        rows.append(Row(method, mean, mean - half, mean + half, hollow=method not in networks))
    if len(rows) < 2:
        return None
    better = "higher is better" if column.higher_is_better else "lower is better"
    unit = f" ({column.unit}; {better})" if column.unit else f" ({better})"
    drawn = draw_values(rows[:MOST], styles, identifier, f"{result.name}{unit}")
    note = "Lines are 95 % intervals of single means; paired tests decide, below."
    if any(row.hollow for row in rows[:MOST]):
        note += " Hollow: no network, for scale."
    heading = f"{labels.sentence(result.name)} on {result.benchmark.title}"
    return drawn.under(heading, _caption(len(rows), note))


def _caption(count: int, note: str) -> str:
    rest = f" The best {MOST} of {counted(count, 'method')}." if count > MOST else ""
    return f"{note}{rest}"
