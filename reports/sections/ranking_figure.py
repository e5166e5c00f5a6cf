"""Mean ranks over data sets, with bars that join methods that are not separated.

A critical-difference diagram on its side: each method has a row with the interval of its rank, so
that twenty names read as a list, and the bars are next to the rows.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from bnnbench.reports.figures.canvas import FAINT, INK, OWN, Drawing, drawing
from bnnbench.reports.figures.labels import cut
from bnnbench.reports.figures.methods import gid, shared
from bnnbench.reports.judge.ranks import Ranks
from bnnbench.reports.style import labels
from bnnbench.reports.style.palette import Style

WIDTH, ROW, LETTER = 4.6, 0.2, 0.062
"""Sizes in inches."""


def draw(ranks: Ranks, styles: Mapping[str, Style], identifier: str) -> Drawing:
    """Return the diagram of one metric; `styles` has every method."""
    places, count = ranks.places, len(ranks.places)
    names = [cut(place.method) for place in places]
    left = 0.2 + LETTER * max(len(name) for name in names)
    columns = packed(ranks.bars)
    with drawing(0.62 + ROW * count, left=left, width=WIDTH, top=0.2) as figure:
        axes = figure.subplots()
        for row, place in enumerate(places):
            style = styles[place.method]
            pen: dict[str, Any] = {"color": OWN, "gid": gid(place.method)}
            axes.plot([1, count], [row, row], color=FAINT, linewidth=0.5, zorder=0)
            axes.plot([place.low, place.high], [row, row], linewidth=1.2, **pen)
            axes.plot([place.rank], [row], marker=style.marker, markersize=5, **pen)
        step = 0.035 * (count - 1)
        for k, bars in enumerate(columns):
            at = count + step * (k + 1)
            for bar in bars:
                axes.plot([at, at], [bar[0] - 0.25, bar[-1] + 0.25], color=INK, linewidth=2.4)
        axes.set(
            xlim=(1 - 0.02 * count, count + step * (len(columns) + 0.6)),
            ylim=(count - 0.4, -0.6),
            xlabel="mean rank (1 is best)",
            yticks=range(count),
        )
        for text, place in zip(axes.set_yticklabels(names), places, strict=True):
            text.set_gid(gid(place.method, "row"))
        axes.set_xticks(_ticks(count))
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_visible(False)
        heading = f"{labels.sentence(ranks.name)} over {len(ranks.sets)} data sets"
        order = [place.method for place in places]
        return shared(figure, identifier, described(ranks), styles, order).under(heading)


def described(ranks: Ranks) -> str:
    """Return the description of the diagram."""
    listed = "; ".join(f"{place.method} {place.rank:.2f}" for place in ranks.places)
    bars = [
        " and ".join((ranks.places[bar[0]].method, ranks.places[bar[-1]].method))
        for bar in ranks.bars
    ]
    joined = f" Not told apart, from and to: {'; '.join(bars)}." if bars else " All are told apart."
    return f"Mean ranks by {ranks.name} over {len(ranks.sets)} data sets: {listed}.{joined}"


def packed(bars: Sequence[tuple[int, ...]]) -> list[list[tuple[int, ...]]]:
    """Return the bars in the minimum number of columns in which they do not touch."""
    columns: list[list[tuple[int, ...]]] = []
    for bar in sorted(bars):
        free = next((column for column in columns if column[-1][-1] < bar[0]), None)
        if free is None:
            columns.append([bar])
        else:
            free.append(bar)
    return columns


def _ticks(count: int) -> list[int]:
    step = 1 if count <= 8 else 2 if count <= 14 else 5
    return sorted({1, *range(step, count + 1, step)} if step > 2 else {*range(1, count + 1, step)})
