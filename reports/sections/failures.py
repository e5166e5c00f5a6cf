"""Methods that are worse than the constant, diverge or fail, by data set and over all of them."""

from collections.abc import Iterable, Iterator, Sequence

from bnnbench.reports.judge.summaries.shortfalls import Shortfall, shortfalls
from bnnbench.reports.sections.base import Choice, Listing, Material, Section, where_of
from bnnbench.reports.style import labels
from bnnbench.reports.style.numbers import significant
from bnnbench.reports.style.words import joined

NOTE = (
    "The constant predicts the distribution of the training targets for every input. Listed are "
    "methods that are worse than it in some split, by log likelihood (in nats) or, without one, by "
    "CRPS or RMSE (as a share of the constant's), and methods of which a run diverged or failed "
    "(an error, or a limit of time or memory). A method without a row is never worse than the "
    "constant."
)

OVER_SETS = (
    *("Method", "Data sets on which its mean is worse", "Splits in which it is worse"),
    *("Worst split, gain over the constant", "Diverged runs", "Failed runs"),
)
BY_SET = (
    *("Method", "Data set", "Splits in which it is worse", "Mean gain over the constant"),
    *("Worst split", "Score", "Diverged runs", "Failed runs"),
)


def sections(material: Material) -> Iterator[Section]:
    """Yield a section unless every method beats the constant in every split."""
    every = [
        shortfall
        for benchmark in material.benchmarks
        for shortfall in shortfalls(benchmark, material.methods)
    ]
    if listing := over_sets(every, "all data sets"):
        choices = [Choice(by="set", name="all data sets", listing=listing)]
        for benchmark in material.benchmarks:
            where = where_of(benchmark, benchmark.origin)
            of_set = [s for s in shortfalls(benchmark, material.methods) if s.falls_short]
            if of_set and len(material.benchmarks) > 1:
                choices.append(Choice(by="set", name=where, listing=_by_set(of_set, where)))
        yield Section("Failures", NOTE, choices=tuple(choices), last=True)


def over_sets(shortfalls: Iterable[Shortfall], where: str) -> Listing | None:
    """Return a row for each method that falls short somewhere, worst first; None without any."""
    by_method: dict[str, list[Shortfall]] = {}
    for shortfall in shortfalls:
        by_method.setdefault(shortfall.method, []).append(shortfall)
    short = {m: of for m, of in by_method.items() if any(one.falls_short for one in of)}
    worst_first = sorted(short.items(), key=lambda item: _severity(item[1]), reverse=True)
    rows = tuple(_pooled(method, of) for method, of in worst_first)
    title = f"Worse than the constant, diverged or failed on {where}"
    return Listing(title, f"failures on {where}", OVER_SETS, rows, (0, 1, 3)) if rows else None


def _severity(of_sets: Sequence[Shortfall]) -> tuple[int, int, int]:
    """Return the numbers of sets and splits in which a method is worse, and of ended runs."""
    ended = sum(one.diverged + one.failed for one in of_sets)
    return sum(one.is_below for one in of_sets), sum(one.below for one in of_sets), ended


def _pooled(method: str, of_sets: Sequence[Shortfall]) -> tuple[str, ...]:
    below = [one.where for one in of_sets if one.is_below]
    counted = [one for one in of_sets if one.gains]
    worst = min(counted, key=lambda one: one.worst, default=None)
    splits, total = sum(one.below for one in of_sets), sum(len(one.gains) for one in of_sets)
    return (
        *(method, f"{len(below)} of {len(counted)}{': ' * bool(below)}{joined(below)}"),
        f"{splits} of {total}",
        f"{significant(worst.worst)} on {worst.where}" if worst and splits else "",
        *(str(sum(one.diverged for one in of_sets)), str(sum(one.failed for one in of_sets))),
    )


def _by_set(shortfalls: Sequence[Shortfall], where: str) -> Listing:
    rows = tuple(_row(shortfall) for shortfall in shortfalls)
    return Listing(f"Failures on {where}", f"failures on {where}", BY_SET, rows, (0, 1, 5))


def _row(one: Shortfall) -> tuple[str, ...]:
    mean = significant(sum(one.gains) / len(one.gains)) if one.gains else ""
    worst = significant(one.worst) if one.gains else ""
    score = labels.in_text(one.metric) if one.metric else ""
    splits = f"{one.below} of {len(one.gains)}"
    ends = str(one.diverged), str(one.failed)
    return (one.method, one.where, splits, mean, worst, score, *ends)
