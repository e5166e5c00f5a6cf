"""Propagated moments compared with draws of the same weights, for methods that check it."""

import math
from collections.abc import Iterator, Sequence

from bnnbench.reports.read.benchmarks import Benchmark
from bnnbench.reports.sections.base import Material, Section, figures, figures_alone
from bnnbench.reports.sections.suites import deviations_figure

RATIO = "std_over_draws"
"""The name of the diagnostic."""
ABOUT = (
    "The output's standard deviation by propagated moments, divided by that of draws of the same "
    "weights, at training rows: below 1 the moments are overconfident about this posterior. "
    "Each point is a run, each line a mean. Methods whose moments are exact are left out."
)


def sections(material: Material) -> Iterator[Section]:
    """Yield the figures of the data sets on which a method checks its moments."""
    drawings = [
        deviations_figure.draw(ratios, name, where)
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
