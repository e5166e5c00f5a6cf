"""The figures of a page: which are drawn, from what, and in which order."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from reports import labels, multiples
from reports.benchmarks import Benchmark
from reports.coverage import Covered, coverage_drawings
from reports.distances import distance_drawings
from reports.few_samples import Counted, count_drawings
from reports.figures import learning, quantiles, reliability, selective, separation
from reports.figures.canvas import Drawing
from reports.figures.evidence import Evidence, gather
from reports.fits import panels
from reports.frontier import cost_drawings
from reports.layers import Layered, layer_drawings
from reports.learning import curves_by_arm, main_metric
from reports.load import Damage
from reports.numbers import identifier
from reports.palette import Style
from reports.regions import region_drawings
from reports.sizes import size_drawings, sized_families
from reports.steps import step_drawings
from reports.table import Table
from suites.engine.store import Store


@dataclass(frozen=True)
class Gallery:
    """Figures of one kind, side by side."""

    title: str
    explanation: str
    drawings: tuple[Drawing, ...]
    legend: bool = False
    """Whether colours must be explained: methods share a figure."""
    wide: bool = False
    """Whether each figure takes the whole width."""


@dataclass(frozen=True)
class Galleries:
    """All figures of a page, and the runs whose predictions they lack."""

    galleries: tuple[Gallery, ...]
    damage: tuple[Damage, ...]
    absent: int
    """How many completed runs have no predictions in the store."""


def galleries(
    store: Store,
    benchmarks: Sequence[Benchmark],
    tables: Sequence[Table],
    measured: tuple[Sequence[Covered], Sequence[Layered], Sequence[Counted]],
    styles: Mapping[str, Style],
    part: str,
) -> Galleries:
    """Return the figures of some benchmarks; `tables` are those of their clean data.

    `measured` are their coverage far outside, the errors of moments behind their layers and of
    few draws, where these are known. `part` tells these figures' identifiers from those of other
    parts of the page.
    """
    covered, layered, counted = measured
    found: list[Gallery] = []
    curves: list[Drawing] = []
    refusals: list[Drawing] = []
    damage: list[Damage] = []
    absent = 0
    families = multiples.families(store, benchmarks)
    for i, benchmark in enumerate(benchmarks):
        evidence = {m: gather(store, runs, benchmark.main) for m, runs in benchmark.runs.items()}
        damage += [Damage(*item) for e in evidence.values() for item in e.unreadable]
        absent += sum(e.absent for e in evidence.values())
        name = identifier(part, i)
        if not any(benchmark in family for family in families):
            found += _fits(store, benchmark, styles, name)
        found += _regions(store, benchmark, name)
        found += _reliability(benchmark, evidence, styles, name)
        found += _separation(benchmark, evidence, styles, name)
        observed = {m: np.mean(e.observed, axis=0) for m, e in evidence.items() if e.observed}
        where = _where(benchmark, benchmark.origin)
        if risks := {m: np.mean(e.risks, axis=0) for m, e in evidence.items() if e.risks}:
            refusals.append(selective.draw(risks, styles, f"{name}-risk", where))
        if observed:
            curves.append(quantiles.draw(observed, styles, f"{name}-quantiles", where))
    if refusals:
        about = (
            "Of the most confident predictions, how many are wrong: the mean over runs. The lower "
            "and the steeper to the left, the better confidence tells errors apart."
        )
        found.append(Gallery("Risk and coverage", about, tuple(refusals), legend=True))
    if curves:
        about = (
            "The share of test targets below each predictive quantile, averaged over runs. "
            "On the diagonal, quantiles hold what they promise."
        )
        found.append(Gallery("Calibration of quantiles", about, tuple(curves), legend=True))
    found = _networks(store, families, styles, part) + _coverage(covered, styles, part) + found
    found = _learning(benchmarks, styles, part) + _steps(benchmarks, styles, part) + found
    found = _draws(counted, styles, part) + found
    found = _layers(layered, styles, part) + _sizes(benchmarks, styles, part) + found
    found += _distances(benchmarks, tables, styles, part)
    found += _cost(benchmarks, tables, styles, part)
    return Galleries(tuple(found), tuple(damage), absent)


def _fits(
    store: Store, benchmark: Benchmark, styles: Mapping[str, Style], name: str
) -> list[Gallery]:
    where = _where(benchmark, benchmark.origin)
    if (drawn := panels(store, benchmark, styles, name, where)) is None:
        return []
    return [Gallery(f"Predictions, {where}", drawn.explanation, drawn.drawings)]


def _regions(store: Store, benchmark: Benchmark, name: str) -> list[Gallery]:
    where = _where(benchmark, benchmark.origin)
    if (drawn := region_drawings(store, benchmark, name, where)) is None:
        return []
    return [Gallery(f"Decision regions, {where}", drawn.explanation, drawn.drawings)]


def _networks(
    store: Store,
    families: Sequence[Sequence[Benchmark]],
    styles: Mapping[str, Style],
    part: str,
) -> list[Gallery]:
    found = []
    for i, family in enumerate(families):
        drawings = multiples.drawings(store, family, styles, identifier(part, i, "family"))
        about = multiples.explanation(family)
        found.append(Gallery("Networks on the same rows", about, drawings, wide=True))
    return [gallery for gallery in found if gallery.drawings]


def _coverage(covered: Sequence[Covered], styles: Mapping[str, Style], part: str) -> list[Gallery]:
    found = []
    for i, one in enumerate(covered):
        where = _where(one.benchmark, one.benchmark.origin)
        name = identifier(part, i, "coverage")
        drawings = coverage_drawings(one, styles, name, where)
        found.append(Gallery(f"Coverage far outside, {where}", one.explanation, drawings))
    return found


def _layers(layered: Sequence[Layered], styles: Mapping[str, Style], part: str) -> list[Gallery]:
    drawings: list[Drawing] = []
    for i, one in enumerate(layered):
        where = _where(one.benchmark, one.benchmark.origin)
        drawings += layer_drawings(one, styles, identifier(part, i, "layers"), where)
    about = (
        "Errors of propagated moments beside samples, against depth. Dotted: no error of σ, and "
        "the error of μ that exact means would show beside so many samples."
    )
    return [Gallery("Moments by layer", about, tuple(drawings), legend=True)] if drawings else []


def _draws(counted: Sequence[Counted], styles: Mapping[str, Style], part: str) -> list[Gallery]:
    drawings: list[Drawing] = []
    for i, one in enumerate(counted):
        where = _where(one.benchmark, one.benchmark.origin)
        drawings += count_drawings(one, styles, identifier(part, i, "draws"), where)
    about = (
        "Errors of what few draws of the weights say of the exact predictive, against their "
        "number: the mean over repeats, with a band of one standard error."
    )
    return [Gallery("Errors by draws", about, tuple(drawings), legend=True)] if drawings else []


def _reliability(
    benchmark: Benchmark,
    evidence: Mapping[str, Evidence],
    styles: Mapping[str, Style],
    name: str,
) -> list[Gallery]:
    where = _where(benchmark, benchmark.origin)
    drawings = tuple(
        reliability.draw(method, e.reliability, styles[method], f"{name}-reliable-{k}", where)
        for k, (method, e) in enumerate(evidence.items())
        if e.reliability is not None
    )
    about = (
        "Accuracy of the predictions made with each confidence, and their share below. Under the "
        f"diagonal a method is overconfident. {_pooled(benchmark, evidence)}"
    )
    return [Gallery(f"Reliability, {where}", about, drawings)] if drawings else []


def _separation(
    benchmark: Benchmark,
    evidence: Mapping[str, Evidence],
    styles: Mapping[str, Style],
    name: str,
) -> list[Gallery]:
    found = []
    for k, condition in enumerate(benchmark.conditions):
        shown = {
            m: e.separation[condition] for m, e in evidence.items() if condition in e.separation
        }
        if not shown:
            continue
        outside = labels.dataset(condition.removeprefix("ood_"))
        where = f"{_where(benchmark, benchmark.origin)} against {outside}"
        origin = benchmark.origin_of(condition)
        where += f" ({origin})" if origin not in (benchmark.origin, "original") else ""
        peaks = {m: max(float(h.max()) for h in separation.densities(s)) for m, s in shown.items()}
        # A method that says the same everywhere would flatten the others' histograms.
        top = max((peak for peak in peaks.values() if peak < 0.9), default=1.0)
        prefix = f"{name}-separation-{k}"
        curve = separation.draw_roc(shown, styles, f"{prefix}-roc", where)
        histograms = tuple(
            separation.draw_histogram(m, s, styles[m], f"{prefix}-{j}", where, max(top, peaks[m]))
            for j, (m, s) in enumerate(shown.items())
        )
        about = (
            f"Predictive entropy on test data (line) and on {outside} (filled). The further apart, "
            f"the better. {_pooled(benchmark, evidence)}"
        )
        found.append(Gallery(f"Detection, {where}", about, (curve, *histograms), legend=True))
    return found


def _learning(
    benchmarks: Sequence[Benchmark], styles: Mapping[str, Style], part: str
) -> list[Gallery]:
    drawings = []
    for i, benchmark in enumerate(benchmarks):
        metric = main_metric(benchmark)
        if metric and (shown := curves_by_arm(benchmark, metric)):
            where, axis = _where(benchmark, benchmark.origin), labels.metric(metric)
            name = identifier(part, i, "learning")
            drawings.append(learning.draw(shown, styles, name, where, axis))
    about = (
        "The mean over repeats on test data after each acquisition; the band is one standard "
        "error. Every point is a training from scratch."
    )
    return [Gallery("Learning curves", about, tuple(drawings), legend=True)] if drawings else []


def _sizes(
    benchmarks: Sequence[Benchmark], styles: Mapping[str, Style], part: str
) -> list[Gallery]:
    found = []
    for i, benchmark in enumerate(benchmarks):
        for k, family in enumerate(f for f in sized_families(benchmark) if not f.is_part):
            where = _where(benchmark, benchmark.origin_of(family.last))
            name = identifier(part, i, f"sizes-{k}")
            drawings = tuple(size_drawings(family, styles, name, where))
            about = (
                "The mean over runs; the band is one standard error. At 0, the data as they are."
            )
            if drawings:
                found.append(Gallery(f"{family.title}, {where}", about, drawings, legend=True))
    return found


def _steps(
    benchmarks: Sequence[Benchmark], styles: Mapping[str, Style], part: str
) -> list[Gallery]:
    drawings = [
        drawing
        for i, b in enumerate(benchmarks)
        for drawing in step_drawings(b, styles, identifier(part, i, "steps"), _where(b, b.origin))
    ]
    about = (
        "Each point is a run. Further left, more of a fit happens at once; a line is the mean of "
        "a method that counts no steps."
    )
    return [Gallery("Serial steps", about, tuple(drawings), legend=True)] if drawings else []


def _distances(
    benchmarks: Sequence[Benchmark],
    tables: Sequence[Table],
    styles: Mapping[str, Style],
    part: str,
) -> list[Gallery]:
    drawings = []
    for i, (benchmark, table) in enumerate(zip(benchmarks, tables, strict=True)):
        where, name = _where(benchmark, benchmark.origin), identifier(part, i, "distance")
        drawings += distance_drawings(table, styles, name, where)
    about = (
        "The means over test inputs and runs of the 2-Wasserstein distance and of the "
        "Kullback-Leibler divergence to the reference's predictions. Lower left is nearer. Bars "
        "are one standard error."
    )
    title = "Distance to the reference"
    return [Gallery(title, about, tuple(drawings), legend=True)] if drawings else []


def _cost(
    benchmarks: Sequence[Benchmark],
    tables: Sequence[Table],
    styles: Mapping[str, Style],
    part: str,
) -> list[Gallery]:
    drawings = []
    for i, (benchmark, table) in enumerate(zip(benchmarks, tables, strict=True)):
        where, name = _where(benchmark, benchmark.origin), identifier(part, i, "cost")
        drawings += cost_drawings(benchmark, table, styles, name, where)
    about = (
        "Lower left is better: less error for less time or memory. Dashes join the methods that "
        "no other beats in both; those that do not train are left out. Bars are one standard error."
    )
    return (
        [Gallery("Cost against quality", about, tuple(drawings), legend=True)] if drawings else []
    )


def _where(benchmark: Benchmark, origin: str) -> str:
    """Return the data set's name, with its origin unless that is the original."""
    name = labels.dataset(benchmark.title)
    return name if origin == "original" else f"{name} ({origin})"


def _pooled(benchmark: Benchmark, evidence: Mapping[str, Evidence]) -> str:
    """Return from how many runs the figures are, a range where methods differ."""
    counts = sorted({e.runs for e in evidence.values() if e.runs})
    total = max(sum(r.status == "completed" for r in runs) for runs in benchmark.runs.values())
    if not counts or (counts[-1] == 1 and total == 1):
        return "One run per method."
    span = str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    return f"Pooled over {span} of {total} runs per method." if counts[0] < total else (
        f"Pooled over {total} runs per method."
    )  # fmt: skip
