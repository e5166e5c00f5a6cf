"""Methods ranked over data sets by the main scores, as a diagram and in numbers."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from bnnbench.reports.figures.canvas import INK, Drawing, drawing
from bnnbench.reports.figures.methods import shared
from bnnbench.reports.figures.rows import WIDTH, Row, height_of, in_rows, left_of
from bnnbench.reports.judge.measures import main_metrics
from bnnbench.reports.judge.ranks import Place, Ranks, ranks
from bnnbench.reports.sections.base import Choice, Listing, Material, Section
from bnnbench.reports.style import labels
from bnnbench.reports.style.numbers import number
from bnnbench.reports.style.palette import Style

CAPTION = (
    "Each row shows the mean rank over the data sets, with a 95 % interval from resampling data "
    "sets, folds and seeds. Bars join neighbours without a difference at 5 % (randomised signs "
    "of rank differences over data sets, adjusted for all pairs)."
)
HEADINGS = (
    *("Method", "Mean rank", "95 % interval"),
    "Distance from the first, in standard deviations between runs",
    *("p against the first", "Ranked last after failing on"),
)


def sections(material: Material) -> Iterator[Section]:
    """Yield the ranks by each main score that can be ranked."""
    choices = []
    for k, metric in enumerate(main_metrics(material.benchmarks)):
        if ranking := ranks(material.benchmarks, metric):
            drawing = draw_ranks(ranking, material.styles, f"{material.anchor}-ranks-{k}")
            drawing = replace(drawing, caption=CAPTION)
            listing = _listing(ranking)
            choices.append(
                Choice(
                    by="metric",
                    name=ranking.name,
                    drawing=drawing,
                    after=tuple(ranking.notes),
                    listing=listing,
                )
            )
    if choices:
        yield Section("Ranks over data sets", choices=tuple(choices))


def _listing(ranking: Ranks) -> Listing:
    rows = tuple(_row(place, first=k == 0) for k, place in enumerate(ranking.places))
    name = f"Mean ranks by {ranking.name}"
    return Listing(f"{name} in numbers", name, HEADINGS, rows, text_columns=(5,))


def _row(place: Place, first: bool) -> tuple[str, ...]:
    known = place.behind == place.behind
    span = f"{number(place.behind_low, 2)} to {number(place.behind_high, 2)}"
    return (
        place.method,
        f"{place.rank:.2f}",
        f"{place.low:.2f} to {place.high:.2f}",
        f"{number(place.behind, 2)} ({span})" if known else "–",
        "–" if first else f"{place.p_value:.2g}",
        ", ".join(place.failed_on) or "–",
    )


def draw_ranks(ranks: Ranks, styles: Mapping[str, Style], identifier: str) -> Drawing:
    """Return the diagram of one metric; `styles` has every method."""
    rows = [Row(place.method, place.rank, place.low, place.high) for place in ranks.places]
    count, columns = len(rows), packed(ranks.bars)
    with drawing(height_of(count), left=left_of(rows), width=WIDTH, top=0.2) as figure:
        axes = figure.subplots()
        in_rows(axes, rows, styles, (1, count))
        step = 0.035 * (count - 1)
        for k, bars in enumerate(columns):
            at = count + step * (k + 1)
            for bar in bars:
                axes.plot([at, at], [bar[0] - 0.25, bar[-1] + 0.25], color=INK, linewidth=2.4)
        axes.set(
            xlim=(1 - 0.02 * count, count + step * (len(columns) + 0.6)),
            xlabel="mean rank (1 is best)",
        )
        axes.set_xticks(_ticks(count))
        heading = f"{labels.sentence(ranks.name)} over {len(ranks.sets)} data sets"
        order = [row.method for row in rows]
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
