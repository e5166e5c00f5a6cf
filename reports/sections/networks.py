"""Several networks on the same rows: a row of panels for each method, a column for each network."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from bnnbench.reports.figures import multiples
from bnnbench.reports.figures.canvas import Drawing
from bnnbench.reports.figures.multiples import Panel
from bnnbench.reports.read.benchmarks import Benchmark
from bnnbench.reports.read.points import points_of
from bnnbench.reports.sections.base import Gallery, Material, Section, figures_alone
from bnnbench.reports.sections.fits import band_of, first_runs
from bnnbench.reports.style import labels
from bnnbench.reports.style.numbers import identifier
from bnnbench.reports.style.palette import Style
from bnnbench.suites.engine.store.curves import Curve
from bnnbench.suites.engine.store.record import Record
from bnnbench.suites.engine.store.store import Store

ROOM = 0.5
"""How far panels reach beyond points and truth on either side, as a share of their range. Bands
do not count: one that is wide would flatten the others."""


def sections(material: Material) -> Iterator[Section]:
    """Return the fits of each family of data sets that differ in the network alone."""
    galleries = []
    for number, family in enumerate(families(material.store, material.benchmarks)):
        name = identifier(material.anchor, number, "family")
        shown = drawings(material.store, family, material.styles, name)
        if shown:
            title = "Networks on the same rows"
            galleries.append(Gallery(title, explanation(family), tuple(shown), wide=True))
    yield from figures_alone(galleries)


def families(store: Store, benchmarks: Sequence[Benchmark]) -> list[tuple[Benchmark, ...]]:
    """Return the benchmarks, two or more, whose first folds have the same points of one input."""
    alike: dict[tuple[bytes, bytes], list[Benchmark]] = {}
    for benchmark in benchmarks:
        if points := _points(store, benchmark):
            name = points.train_inputs.tobytes(), points.train_targets.tobytes()
            alike.setdefault(name, []).append(benchmark)
    return [tuple(together) for together in alike.values() if len(together) > 1]


def explanation(family: Sequence[Benchmark]) -> str:
    """Return what the drawings of a family show, in words."""
    fold, _ = first_runs(family[0])
    return (
        f"Fold {fold}, seed 0: every network sees the same training points (dots). Thin line: the "
        "true function; coloured: each method's predictive mean with a band of "
        f"± {multiples.DEVIATIONS} predictive standard deviations. The number is the error of the "
        "mean against noisy targets inside the range of the training inputs, where that is scored."
    )


def drawings(
    store: Store, family: Sequence[Benchmark], styles: Mapping[str, Style], name: str
) -> tuple[Drawing, ...]:
    """Return one drawing for each method that has a prediction on any of the networks."""
    points = _points(store, family[0])
    assert points is not None, "a family has points"
    runs = [first_runs(benchmark)[1] for benchmark in family]
    titles = [benchmark.title for benchmark in family]
    found = []
    for k, method in enumerate(dict.fromkeys(m for benchmark in family for m in benchmark.runs)):
        own = [of.get(method) for of in runs]
        panels = [_panel(store, title, record) for title, record in zip(titles, own, strict=True)]
        if any(panel.band for panel in panels):
            place = f"{name}-multiples-{k}"
            found.append(
                multiples.draw(method, points, panels, styles[method], place, _limits(points))
            )
    return tuple(found)


def _points(store: Store, benchmark: Benchmark) -> Curve | None:
    _, runs = first_runs(benchmark)
    return points_of(store, next(iter(runs.values()))) if runs else None


def _panel(store: Store, title: str, record: Record | None) -> Panel:
    if record is None:
        return Panel(title, None, "no run")
    if record.status != "completed":
        return Panel(title, None, record.status)
    scores = record.scores.get("inside") or record.scores.get("clean", {})
    note = f"{labels.metric('rmse')} {scores['rmse']:.3f}" if "rmse" in scores else ""
    if not record.diagnostics.get("converged", 1.0):
        note = ", ".join(filter(None, [note, "not converged"]))
    return Panel(title, band_of(store, record), note)


def _limits(points: Curve) -> tuple[float, float]:
    shown = points.train_targets
    if points.truth is not None:
        shown = np.concatenate([shown, points.truth])
    room = ROOM * np.ptp(shown)
    return float(shown.min() - room), float(shown.max() + room)
