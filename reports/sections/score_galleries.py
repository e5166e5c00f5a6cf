"""Figures that are drawn from records and tables: scores, their sizes and what they cost."""

from collections.abc import Mapping, Sequence

from bnnbench.reports.figures import learning
from bnnbench.reports.figures.canvas import Drawing
from bnnbench.reports.judge.table import Table
from bnnbench.reports.read.benchmarks import Benchmark
from bnnbench.reports.sections.coverage import Covered, coverage_drawings
from bnnbench.reports.sections.distances import distance_drawings
from bnnbench.reports.sections.few_samples import Counted, count_drawings
from bnnbench.reports.sections.frontier import cost_drawings
from bnnbench.reports.sections.gallery import Gallery, shared, where_of
from bnnbench.reports.sections.layers import Layered, layer_drawings
from bnnbench.reports.sections.learning import curves_by_arm, main_metric
from bnnbench.reports.sections.sizes import size_drawings, sized_families
from bnnbench.reports.sections.steps import step_drawings
from bnnbench.reports.style import labels
from bnnbench.reports.style.numbers import identifier
from bnnbench.reports.style.palette import Style


def moments_by_layer(
    layered: Sequence[Layered], styles: Mapping[str, Style], part: str
) -> list[Gallery]:
    """Return the errors of propagated moments behind each layer."""
    drawings: list[Drawing] = []
    for i, one in enumerate(layered):
        where = where_of(one.benchmark, one.benchmark.origin)
        drawings += layer_drawings(one, styles, identifier(part, i, "layers"), where)
    about = (
        "Errors of propagated moments beside samples, against depth. Dotted: no error of σ, and "
        "the error of μ that exact means would show beside so many samples."
    )
    return shared("Moments by layer", about, drawings)


def scores_by_size(
    benchmarks: Sequence[Benchmark], styles: Mapping[str, Style], part: str
) -> list[Gallery]:
    """Return scores by the size of a perturbation, a gallery for each family."""
    found = []
    for i, benchmark in enumerate(benchmarks):
        for k, family in enumerate(f for f in sized_families(benchmark) if not f.is_part):
            where = where_of(benchmark, benchmark.origin_of(family.last))
            name = identifier(part, i, f"sizes-{k}")
            drawings = tuple(size_drawings(family, styles, name, where))
            about = (
                "The mean over runs; the band is one standard error. At 0, the data as they are."
            )
            if drawings:
                found.append(Gallery(f"{family.title}, {where}", about, drawings, legend=True))
    return found


def errors_by_draws(
    counted: Sequence[Counted], styles: Mapping[str, Style], part: str
) -> list[Gallery]:
    """Return the errors of few draws of the weights."""
    drawings: list[Drawing] = []
    for i, one in enumerate(counted):
        where = where_of(one.benchmark, one.benchmark.origin)
        drawings += count_drawings(one, styles, identifier(part, i, "draws"), where)
    about = (
        "Errors of what few draws of the weights say of the exact predictive, against their "
        "number: the mean over repeats, with a band of one standard error."
    )
    return shared("Errors by draws", about, drawings)


def learning_curves(
    benchmarks: Sequence[Benchmark], styles: Mapping[str, Style], part: str
) -> list[Gallery]:
    """Return scores after each acquisition of active learning."""
    drawings = []
    for i, benchmark in enumerate(benchmarks):
        metric = main_metric(benchmark)
        if metric and (shown := curves_by_arm(benchmark, metric)):
            where, axis = where_of(benchmark, benchmark.origin), labels.metric(metric)
            name = identifier(part, i, "learning")
            drawings.append(learning.draw(shown, styles, name, where, axis))
    about = (
        "The mean over repeats on test data after each acquisition; the band is one standard "
        "error. Every point is a training from scratch."
    )
    return shared("Learning curves", about, drawings)


def serial_steps(
    benchmarks: Sequence[Benchmark], styles: Mapping[str, Style], part: str
) -> list[Gallery]:
    """Return scores by how many steps of a fit come one after another."""
    drawings = [
        drawing
        for i, b in enumerate(benchmarks)
        for drawing in step_drawings(b, styles, identifier(part, i, "steps"), where_of(b, b.origin))
    ]
    about = (
        "Each point is a run. Further left, more of a fit happens at once; a line is the mean of "
        "a method that counts no steps."
    )
    return shared("Serial steps", about, drawings)


def coverage_far_outside(
    covered: Sequence[Covered], styles: Mapping[str, Style], part: str
) -> list[Gallery]:
    """Return coverage far outside the data, a gallery for each data set tested there."""
    found = []
    for i, one in enumerate(covered):
        where = where_of(one.benchmark, one.benchmark.origin)
        name = identifier(part, i, "coverage")
        drawings = coverage_drawings(one, styles, name, where)
        found.append(Gallery(f"Coverage far outside, {where}", one.explanation, drawings))
    return found


def distances(
    benchmarks: Sequence[Benchmark],
    tables: Sequence[Table],
    styles: Mapping[str, Style],
    part: str,
) -> list[Gallery]:
    """Return distances to the predictions of a reference."""
    drawings = []
    for i, (benchmark, table) in enumerate(zip(benchmarks, tables, strict=True)):
        where, name = where_of(benchmark, benchmark.origin), identifier(part, i, "distance")
        drawings += distance_drawings(table, styles, name, where)
    about = (
        "The means over test inputs and runs of the 2-Wasserstein distance and of the "
        "Kullback-Leibler divergence to the reference's predictions. Lower left is nearer. Bars "
        "are one standard error."
    )
    return shared("Distance to the reference", about, drawings)


def costs(
    benchmarks: Sequence[Benchmark],
    tables: Sequence[Table],
    styles: Mapping[str, Style],
    part: str,
) -> list[Gallery]:
    """Return scores by what they cost."""
    drawings = []
    for i, (benchmark, table) in enumerate(zip(benchmarks, tables, strict=True)):
        where, name = where_of(benchmark, benchmark.origin), identifier(part, i, "cost")
        drawings += cost_drawings(benchmark, table, styles, name, where)
    about = (
        "Lower left is better: less error for less time or memory. Dashes join the methods that "
        "no other beats in both; those that do not train are left out. Bars are one standard error."
    )
    return shared("Cost against quality", about, drawings)
