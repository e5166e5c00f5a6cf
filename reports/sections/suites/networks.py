"""Several networks on the same rows: a row of panels per method, a column per network."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from bnnbench.engine.records.record import Record
from bnnbench.engine.store.data_points.curves import Curve
from bnnbench.engine.store.store import Store
from bnnbench.reports.figures.canvas import Drawing
from bnnbench.reports.read.benchmarks import Benchmark
from bnnbench.reports.read.predictions.points import points_of
from bnnbench.reports.sections.base import Gallery, Material, Section, figures_alone
from bnnbench.reports.sections.fits import band_of, first_runs
from bnnbench.reports.sections.suites import networks_figure
from bnnbench.reports.sections.suites.networks_figure import Panel
from bnnbench.reports.style import labels
from bnnbench.reports.style.numbers import identifier
from bnnbench.reports.style.palette import Style

ROOM = 0.5
"""The margin of panels above and below the points and the truth, as a share of their range. Bands
are ignored, because a wide one would flatten the others."""


def sections(material: Material) -> Iterator[Section]:
    """Yield the fits of each family of data sets that differ only in the network."""
    galleries = []
    for number, family in enumerate(families(material.store, material.benchmarks)):
        name = identifier(material.anchor, number, "family")
        figures = drawings(material.store, family, material.styles, name)
        if figures:
            title = "Networks on the same rows"
            galleries.append(Gallery(title, explanation(family), tuple(figures), wide=True))
    yield from figures_alone(galleries)


def families(store: Store, benchmarks: Sequence[Benchmark]) -> list[tuple[Benchmark, ...]]:
    """Return groups of two or more benchmarks with the same points (of one input) in fold one."""
    alike: dict[tuple[bytes, bytes], list[Benchmark]] = {}
    for benchmark in benchmarks:
        if points := _points(store, benchmark):
            name = points.train_inputs.tobytes(), points.train_targets.tobytes()
            alike.setdefault(name, []).append(benchmark)
    return [tuple(together) for together in alike.values() if len(together) > 1]


def explanation(family: Sequence[Benchmark]) -> str:
    """Return the text above the drawings of a family."""
    fold, _ = first_runs(family[0])
    return (
        f"Fold {fold}, seed 0. Every network sees the same training points (dots). The thin line "
        "is the true function; the coloured line is each method's predictive mean with a band of "
        f"± {networks_figure.DEVIATIONS} predictive standard deviations. The "
        "number is the error of the mean "
        "against noisy targets inside the range of the training inputs, if it was scored."
    )


def drawings(
    store: Store, family: Sequence[Benchmark], styles: Mapping[str, Style], name: str
) -> tuple[Drawing, ...]:
    """Return one drawing for each method that has a prediction with any of the networks."""
    points = _points(store, family[0])
    assert points is not None, "a family has points"
    runs = [first_runs(benchmark)[1] for benchmark in family]
    titles = [benchmark.title for benchmark in family]
    drawn = []
    for k, method in enumerate(dict.fromkeys(m for benchmark in family for m in benchmark.runs)):
        records = [runs_of.get(method) for runs_of in runs]
        panels = [
            _panel(store, title, record) for title, record in zip(titles, records, strict=True)
        ]
        if any(panel.band for panel in panels):
            place = f"{name}-multiples-{k}"
            drawn.append(
                networks_figure.draw(method, points, panels, styles[method], place, _limits(points))
            )
    return tuple(drawn)


def _points(store: Store, benchmark: Benchmark) -> Curve | None:
    _, runs = first_runs(benchmark)
    return points_of(store, next(iter(runs.values()))) if runs else None


def _panel(store: Store, title: str, record: Record | None) -> Panel:
    if record is None:
        return Panel(title, None, "no run")
    if record.outcome.status != "completed":
        return Panel(title, None, record.outcome.status)
    scores = record.outcome.scores.get("inside") or record.outcome.scores.get("clean", {})
    note = f"{labels.metric('rmse')} {scores['rmse']:.3f}" if "rmse" in scores else ""
    if not record.outcome.diagnostics.get("converged", 1.0):
        note = ", ".join(filter(None, [note, "not converged"]))
    return Panel(title, band_of(store, record), note)


def _limits(points: Curve) -> tuple[float, float]:
    values = points.train_targets
    if points.truth is not None:
        values = np.concatenate([values, points.truth])
    room = ROOM * np.ptp(values)
    return float(values.min() - room), float(values.max() + room)
