"""The figures of a page: which are drawn, from what, and in which order."""

from collections.abc import Mapping, Sequence

from bnnbench.reports.judge.table import Table
from bnnbench.reports.read.benchmarks import Benchmark
from bnnbench.reports.sections import multiples
from bnnbench.reports.sections.coverage import Covered
from bnnbench.reports.sections.few_samples import Counted
from bnnbench.reports.sections.gallery import Galleries
from bnnbench.reports.sections.layers import Layered
from bnnbench.reports.sections.prediction_galleries import networks, predicted
from bnnbench.reports.sections.score_galleries import (
    costs,
    coverage_far_outside,
    distances,
    errors_by_draws,
    learning_curves,
    moments_by_layer,
    scores_by_size,
    serial_steps,
)
from bnnbench.reports.style.palette import Style
from bnnbench.suites.engine.store.store import Store


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
    families = multiples.families(store, benchmarks)
    kept = predicted(store, benchmarks, families, styles, part)
    found = [
        *moments_by_layer(layered, styles, part),
        *scores_by_size(benchmarks, styles, part),
        *errors_by_draws(counted, styles, part),
        *learning_curves(benchmarks, styles, part),
        *serial_steps(benchmarks, styles, part),
        *networks(store, families, styles, part),
        *coverage_far_outside(covered, styles, part),
        *kept.galleries,
        *distances(benchmarks, tables, styles, part),
        *costs(benchmarks, tables, styles, part),
    ]
    return Galleries(tuple(found), kept.damage, kept.absent)
