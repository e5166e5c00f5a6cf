"""Figures drawn from stored predictions."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from bnnbench.engine.store.store import Store
from bnnbench.reports.figures import quantiles, reliability, selective, separation
from bnnbench.reports.figures.canvas import Drawing
from bnnbench.reports.figures.evidence import Evidence, gather
from bnnbench.reports.read.benchmarks import Benchmark
from bnnbench.reports.read.load import Damage
from bnnbench.reports.sections.base import Gallery, Material, Section, figures, where_of
from bnnbench.reports.sections.fits import panels
from bnnbench.reports.sections.suites import networks
from bnnbench.reports.sections.suites.regions import region_drawings
from bnnbench.reports.style.labels import ROUNDED
from bnnbench.reports.style.numbers import identifier
from bnnbench.reports.style.palette import Style
from bnnbench.reports.style.words import counted

BAND = (
    "The grey band contains {} of a calibrated method with probability 95 %, for the given number "
    "of test points; several seeds on the same points count once."
)


def sections(material: Material) -> Iterator[Section]:
    """Yield the figures of predictions; fits of a family of networks are in another section."""
    store, styles = material.store, material.styles
    families = networks.families(store, material.benchmarks)
    galleries: list[Gallery] = []
    quantile_curves: list[Drawing] = []
    risk_curves: list[Drawing] = []
    error_curves: list[Drawing] = []
    damage: list[Damage] = []
    absent, rounded = 0, False
    for i, benchmark in enumerate(material.benchmarks):
        outside = frozenset(name for name, traits in benchmark.traits.items() if traits.outside)
        evidence = {
            method: gather(store, runs, benchmark.main, outside)
            for method, runs in benchmark.runs.items()
        }
        for gathered in evidence.values():
            damage += [Damage(*item) for item in gathered.unreadable]
            damage += [Damage(*item, whole=True) for item in gathered.not_imported]
        absent += sum(e.absent for e in evidence.values())
        rounded |= any(e.rounded for e in evidence.values())
        name = identifier(material.anchor, i)
        if not any(benchmark in family for family in families):
            galleries += _fits(store, benchmark, styles, name)
        galleries += _regions(store, benchmark, name)
        galleries += _reliability(benchmark, evidence, styles, name)
        galleries += _separation(benchmark, evidence, styles, name)
        observed = {m: np.mean(e.observed, axis=0) for m, e in evidence.items() if e.observed}
        where = where_of(benchmark, benchmark.origin)
        if risks := {m: np.mean(e.risks, axis=0) for m, e in evidence.items() if e.risks}:
            risk_curves.append(selective.draw(risks, styles, f"{name}-risk", where))
        if errors := {
            m: np.mean(e.squared_errors, axis=0) for m, e in evidence.items() if e.squared_errors
        }:
            drawn = selective.draw_squared_errors(errors, styles, f"{name}-errors", where)
            error_curves.append(drawn)
        if observed:
            distinct = min(_distinct(benchmark, e) for e in evidence.values() if e.observed)
            drawn = quantiles.draw(observed, styles, f"{name}-quantiles", where, distinct)
            quantile_curves.append(drawn)
    galleries += figures(
        "Risk and coverage",
        "The share of errors among the most confident predictions, averaged over runs. The lower "
        "a curve and the steeper its fall to the left, the better confidence separates errors "
        "from correct predictions.",
        risk_curves,
    )
    galleries += figures(
        "Squared error and coverage",
        "The mean squared error of the test points with the smallest predicted variance, averaged "
        "over runs, in percent of the error over all points. The lower a curve, the better the "
        "variances separate large errors from small ones; equal variances everywhere give 100 %.",
        error_curves,
    )
    galleries += figures(
        "Calibration of quantiles",
        "The share of test targets below each predictive quantile, averaged over runs. "
        f"Calibrated quantiles lie on the diagonal. {BAND.format('the whole curve')}",
        quantile_curves,
    )
    if rounded:
        galleries = [replace(g, explanation=f"{g.explanation} {ROUNDED}") for g in galleries]
    yield Section(galleries=tuple(galleries), damage=tuple(damage), absent=absent)


def _fits(
    store: Store, benchmark: Benchmark, styles: Mapping[str, Style], name: str
) -> list[Gallery]:
    where = where_of(benchmark, benchmark.origin)
    if (drawn := panels(store, benchmark, styles, name, where)) is None:
        return []
    return [Gallery(f"Predictions, {where}", drawn.explanation, drawn.drawings)]


def _regions(store: Store, benchmark: Benchmark, name: str) -> list[Gallery]:
    where = where_of(benchmark, benchmark.origin)
    if (drawn := region_drawings(store, benchmark, name, where)) is None:
        return []
    return [Gallery(f"Decision regions, {where}", drawn.explanation, drawn.drawings)]


def _reliability(
    benchmark: Benchmark,
    evidence: Mapping[str, Evidence],
    styles: Mapping[str, Style],
    name: str,
) -> list[Gallery]:
    where = where_of(benchmark, benchmark.origin)
    drawings = tuple(
        reliability.draw(
            method,
            e.reliability,
            styles[method],
            f"{name}-reliable-{k}",
            where,
            _distinct(benchmark, e),
        )
        for k, (method, e) in enumerate(evidence.items())
        if e.reliability is not None
    )
    about = (
        "The accuracy of predictions by their confidence, and below it the share of predictions. "
        f"Under the diagonal a method is overconfident. {_pooled(benchmark, evidence)} "
        f"{BAND.format('all points')}"
    )
    return [Gallery(f"Reliability, {where}", about, drawings)] if drawings else []


def _separation(
    benchmark: Benchmark,
    evidence: Mapping[str, Evidence],
    styles: Mapping[str, Style],
    name: str,
) -> list[Gallery]:
    galleries = []
    for k, condition in enumerate(benchmark.conditions):
        separations = {
            m: e.separation[condition] for m, e in evidence.items() if condition in e.separation
        }
        if not separations:
            continue
        outside = benchmark.traits[condition].outside
        where = f"{where_of(benchmark, benchmark.origin)} against {outside}"
        origin = benchmark.origin_of(condition)
        where += f" ({origin})" if origin not in (benchmark.origin, "original") else ""
        peaks = {
            m: max(float(h.max()) for h in separation.densities(s)) for m, s in separations.items()
        }
        # A method with the same entropy everywhere would flatten the others' histograms.
        top = max((peak for peak in peaks.values() if peak < 0.9), default=1.0)
        prefix = f"{name}-separation-{k}"
        curve = separation.draw_roc(separations, styles, f"{prefix}-roc", where)
        histograms = tuple(
            separation.draw_histogram(m, s, styles[m], f"{prefix}-{j}", where, max(top, peaks[m]))
            for j, (m, s) in enumerate(separations.items())
        )
        about = (
            f"Predictive entropy on test data (line) and on {outside} (filled). The further apart "
            f"they are, the better. {_pooled(benchmark, evidence)}"
        )
        galleries.append(Gallery(f"Detection, {where}", about, (curve, *histograms)))
    return galleries


def _distinct(benchmark: Benchmark, evidence: Evidence) -> float:
    """Return the number of different test rows behind a method's figures.

    Random folds share rows, so the number is at most the data set's number of rows.
    """
    facts = benchmark.records[0].circumstances.facts
    rows = [facts.get(name) for name in ("train_rows", "test_rows")]
    counts = [count for count in rows if isinstance(count, int)]
    most = sum(counts) if len(counts) == 2 else evidence.distinct_points
    return min(evidence.distinct_points, max(most, evidence.points / max(1, evidence.runs)))


def _pooled(benchmark: Benchmark, evidence: Mapping[str, Evidence]) -> str:
    """Return a sentence on the number of runs behind the figures, a range if methods differ."""
    counts = sorted({e.runs for e in evidence.values() if e.runs})
    total = max(
        sum(r.outcome.status == "completed" for r in runs) for runs in benchmark.runs.values()
    )
    if not counts or (counts[-1] == 1 and total == 1):
        return "One run per method."
    span = str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    return f"Pooled over {span} of {counted(total, 'run')} per method." if counts[0] < total else (
        f"Pooled over {counted(total, 'run')} per method."
    )  # fmt: skip
