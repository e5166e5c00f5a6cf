"""Propagated moments compared with draws of the same weights, for methods that check it."""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

import numpy as np

from bnnbench.reports.figures.canvas import FAINT, INK, Drawing, dots, drawing, svg
from bnnbench.reports.figures.limits import beyond, in_words, robust_limits
from bnnbench.reports.read.benchmarks import Benchmark
from bnnbench.reports.sections.base import Material, Section, figures, figures_alone

RATIO = "std_over_draws"
"""The name of the diagnostic."""
ABOUT = (
    "The output's standard deviation by propagated moments, divided by that of draws of the same "
    "weights, at training rows: below 1 the moments are overconfident about this posterior. "
    "Each point is a run, each line a mean. Methods whose moments are exact are left out."
)

LEFT, WIDTH, ROW = 1.56, 2.8, 0.17
"""Sizes in inches; one row per method."""


def sections(material: Material) -> Iterator[Section]:
    """Yield the figures of the data sets on which a method checks its moments."""
    drawings = [
        draw_deviations(ratios, name, where)
        for benchmark, name, where in material.figure_places("deviations")
        if (ratios := ratios_of(benchmark, material.methods))
    ]
    yield from figures_alone(figures("Moments beside draws", ABOUT, drawings))


def ratios_of(benchmark: Benchmark, methods: Sequence[str]) -> dict[str, list[float]]:
    """Return the ratios of each method's runs, without methods whose ratios are all 1."""
    ratios = {
        method: [
            record.outcome.diagnostics[RATIO]
            for record in benchmark.runs.get(method, ())
            if record.outcome.status == "completed"
            and math.isfinite(record.outcome.diagnostics.get(RATIO, math.nan))
        ]
        for method in methods
    }
    return {m: values for m, values in ratios.items() if any(value != 1 for value in values)}


def draw_deviations(ratios: Mapping[str, Sequence[float]], identifier: str, where: str) -> Drawing:
    """Return a row of points per method, a point for each run, and a line at their mean."""
    with drawing(0.5 + ROW * len(ratios), LEFT, WIDTH) as figure:
        axes = figure.subplots()
        axes.axvline(1.0, color=FAINT, linewidth=1)
        listed = []
        for row, (method, values) in enumerate(ratios.items()):
            mean = float(np.mean(values))
            dots(axes, np.asarray(values), np.full(len(values), row), 2.4, alpha=0.35)
            axes.plot([mean, mean], [row - 0.35, row + 0.35], color=INK, linewidth=1.3)
            listed.append(f"{method} {mean:.2f}")
        axes.set_yticks(range(len(ratios)), list(ratios))
        axes.tick_params(axis="y", length=0)
        largest = max(1.0, robust_limits(chain.from_iterable(ratios.values()), False)[1])
        far = beyond({m: max(values) for m, values in ratios.items()}, (0, largest), False)
        axes.set(
            xlabel="ratio of deviations",
            xlim=(0, 1.05 * largest),
            ylim=(len(ratios) - 0.5, -0.5),
        )
        axes.locator_params(axis="x", nbins=6)
        description = f"Ratio to the deviation of draws on {where}, means: {'; '.join(listed)}."
        return Drawing(svg(figure, identifier, description), where, in_words(far))
