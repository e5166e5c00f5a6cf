"""The decision over data sets as random, and what advice is worth on sets that it has not seen."""

from collections.abc import Iterator

from bnnbench.reports.judge.measures import judged, main_metrics
from bnnbench.reports.judge.over_sets.results import verdict_on, worth_on
from bnnbench.reports.judge.over_sets.tables import ADVICE, PLACES, place_rows, sentences
from bnnbench.reports.sections.base import Choice, Listing, Material, Section

NOTE = (
    "Data sets are random: one counts as much as another, by the share of the way from a constant "
    "prediction to its best method. A method is worse if it is so in shares and in ranks, by sign "
    "flips of whole sets, with the maximum over all pairs of methods left."
)


def sections(material: Material) -> Iterator[Section]:
    """Yield the places, and the regrets, by each main metric with a decision over data sets."""
    places, worths = [], []
    for metric in main_metrics(material.benchmarks):
        results = [j for b in material.benchmarks if (j := judged(b, metric)) and j.cells]
        if (decided := verdict_on(results)) is None:
            continue
        name, worth = results[0].name, worth_on(results, decided.league)
        unit = results[0].column.unit or "its unit"
        advice = tuple(text.format(unit=unit) for text in ADVICE)
        places.append(_choice(name, "All methods", PLACES, place_rows(decided), sentences(decided)))
        worths.append(_choice(name, "All kinds of advice", advice, worth.rows, [worth.text]))
    if places:
        yield Section("Over data sets", NOTE, choices=tuple(places))
        yield Section("What advice is worth on an unseen data set", choices=tuple(worths))


def _choice(
    name: str,
    title: str,
    headings: tuple[str, ...],
    rows: list[tuple[str, ...]],
    after: list[str],
) -> Choice:
    listing = Listing(f"{title}, by {name}", title, headings, tuple(rows), text_columns=(0, 6))
    return Choice(by="metric", name=name, after=tuple(after), listing=listing)
