"""Several networks on the same rows: a row of panels per method, a column per network."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bnnbench.engine.records.record import Record
from bnnbench.engine.store.data_points import Curve
from bnnbench.engine.store.store import Store
from bnnbench.reports.figures.bands import DEVIATIONS, Band
from bnnbench.reports.figures.canvas import INK, Drawing, dots, drawing, svg
from bnnbench.reports.read.benchmarks import Benchmark
from bnnbench.reports.read.predictions.points import points_of
from bnnbench.reports.sections.base import Gallery, Material, Section, figures_alone
from bnnbench.reports.sections.fits import band_of, first_runs
from bnnbench.reports.style import labels
from bnnbench.reports.style.numbers import identifier
from bnnbench.reports.style.palette import Style

ROOM = 0.5
"""The margin of panels above and below the points and the truth, as a share of their range. Bands
are ignored, because a wide one would flatten the others."""

PANEL, LEFT, HEIGHT = 1.55, 0.46, 1.75
"""Sizes in inches."""


@dataclass(frozen=True)
class Panel:
    """A method's prediction with one network; without a band if there is none."""

    title: str
    band: Band | None
    note: str
    """A score, or the reason for a missing band."""


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
        f"± {DEVIATIONS} predictive standard deviations. The "
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
                draw_networks(method, points, panels, styles[method], place, _limits(points))
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
    if record.outcome.unconverged:
        note = ", ".join(filter(None, [note, "not converged"]))
    return Panel(title, band_of(store, record), note)


def _limits(points: Curve) -> tuple[float, float]:
    values = points.train_targets
    if points.truth is not None:
        values = np.concatenate([values, points.truth])
    room = ROOM * np.ptp(values)
    return float(values.min() - room), float(values.max() + room)


def draw_networks(
    method: str,
    curve: Curve,
    panels: Sequence[Panel],
    style: Style,
    identifier: str,
    ylim: tuple[float, float],
) -> Drawing:
    """Return a row of panels over the same points, with the true function."""
    x = curve.test_inputs
    with drawing(HEIGHT, LEFT, LEFT + PANEL * len(panels), top=0.36) as figure:
        row = figure.subplots(1, len(panels), sharex=True, sharey=True, squeeze=False)[0]
        figure.subplots_adjust(wspace=0.08)
        listed = []
        for axes, panel in zip(row, panels, strict=True):
            if curve.truth is not None:
                axes.plot(x, curve.truth, color=INK, linewidth=0.7, zorder=3)
            dots(axes, curve.train_inputs, curve.train_targets, 1.8, alpha=0.8, zorder=1)
            if panel.band is not None:
                axes.fill_between(x, *panel.band.ends, color=style.colour, alpha=0.25, linewidth=0)
                axes.plot(x, panel.band.mean, color=style.colour, linewidth=1.1, zorder=2)
            axes.set_title(f"{panel.title}\n{panel.note}", fontsize=7.5, color=INK, linespacing=1.3)
            axes.set(xlabel="x", xlim=(x.min(), x.max()), ylim=ylim)
            axes.locator_params(axis="both", nbins=5)
            listed.append(f"{panel.title}: {panel.note}")
        row[0].set_ylabel("y")
        description = (
            f"{method}: predictive mean and ± {DEVIATIONS} standard deviations over "
            f"{len(curve.train_inputs)} training points. {'; '.join(listed)}."
        )
        return Drawing(svg(figure, identifier, description), method)
