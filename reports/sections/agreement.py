"""Agreement and total variation between the methods' predictions."""

from collections.abc import Callable, Iterator, Mapping

from bnnbench.engine.store.store import Store
from bnnbench.reports.read.benchmarks import Benchmark
from bnnbench.reports.read.predictions.agreements import FOLDS, Pair, agreements
from bnnbench.reports.sections.base import Choice, Listing, Material, Section, where_of

NOTE = (
    "Predictions of two methods on the same test points, whatever the targets. Agreement: the "
    "share of points with the same most probable class. Total variation: the largest difference "
    "of the probabilities that both give to any set of outcomes, averaged over points; for real "
    "targets, to sets of small intervals, at the first 50 points. A method compared with itself: "
    f"two of its seeds. Means over at most {FOLDS} folds, first seed of each method."
)


def sections(material: Material) -> Iterator[Section]:
    """Yield the tables of pairs of methods, if the store holds predictions of several runs."""
    choices: list[Choice] = []
    for benchmark in material.benchmarks:
        choices += choices_of(material.store, benchmark, material.methods)
    if choices:
        yield Section("Agreement between methods", NOTE, choices=tuple(choices), last=True)


def choices_of(store: Store, benchmark: Benchmark, methods: tuple[str, ...]) -> list[Choice]:
    """Return the tables of one data set: agreement in percent, and total variation."""
    agreement = agreements(store, benchmark)
    if agreement is None:
        return []
    where = where_of(benchmark, benchmark.origin)
    tables = (
        ("agreement, %", agreement.same_label, lambda share: f"{100 * share:.1f}"),
        ("total variation", agreement.variation, lambda value: f"{value:.3f}"),
    )
    return [
        Choice(by="set", name=f"{where}: {title}", note=_reference(benchmark), listing=listing)
        for title, values, text in tables
        if (listing := _listing(f"{where}: {title}", values, text, methods))
    ]


def _listing(
    title: str,
    values: Mapping[Pair, float],
    text: Callable[[float], str],
    methods: tuple[str, ...],
) -> Listing | None:
    """Return methods by methods; None without values."""
    compared = [m for m in methods if any(m in pair for pair in values)]
    if not compared:
        return None
    rows = [
        (
            row,
            *(text(values[row, column]) if (row, column) in values else "–" for column in compared),
        )
        for row in compared
    ]
    return Listing(title, title, ("Method", *compared), tuple(rows))


def _reference(benchmark: Benchmark) -> str:
    """Return a sentence that names the method used as the reference by the suite."""
    keys = {str(r.reference.get("key")) for r in benchmark.records if r.reference}
    names = dict.fromkeys(r.method for r in benchmark.records if r.key in keys)
    return f"The reference is {', '.join(names)}." if names else ""
