"""Methods ranked over data sets by the main scores, as a diagram and in numbers."""

from collections.abc import Iterator
from dataclasses import replace

from bnnbench.reports.judge.measures import main_metrics
from bnnbench.reports.judge.ranks import Place, Ranks, ranks
from bnnbench.reports.sections import ranking_figure as figure
from bnnbench.reports.sections.base import Choice, Listing, Material, Section
from bnnbench.reports.style.numbers import number

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
            drawing = figure.draw(ranking, material.styles, f"{material.anchor}-ranks-{k}")
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
