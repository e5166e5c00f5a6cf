"""Every kind of figure that methods share, drawn for seven methods with artificial numbers."""

import numpy as np

from bnnbench.metrics.statistics import Significance
from bnnbench.reports.figures import quantiles, selective, separation
from bnnbench.reports.figures.curves import (
    draw_few_samples,
    draw_learning,
    draw_sizes,
    draw_trials,
)
from bnnbench.reports.figures.evidence import (
    COVERAGES,
    ENTROPY_BINS,
    FALSE_POSITIVE_RATES,
    Separation,
    levels,
)
from bnnbench.reports.figures.layers import Errors, draw_layers
from bnnbench.reports.figures.truth import draw_bias, draw_cloud, draw_density, draw_truth_ranks
from bnnbench.reports.judge.ranks import Place, Ranks
from bnnbench.reports.judge.statistics.rank_bars import Agreement
from bnnbench.reports.judge.statistics.rank_bars import Place as RankPlace
from bnnbench.reports.pages.report.timing_page import draw_timings
from bnnbench.reports.read.predictions.truths import Rows
from bnnbench.reports.sections.costs import Point, draw_costs
from bnnbench.reports.sections.ranking import draw_ranks
from bnnbench.reports.sections.suites.distances import Distance, draw_distances
from bnnbench.reports.sections.suites.outputs import Output, draw_outputs
from bnnbench.reports.sections.suites.steps import draw_steps
from bnnbench.reports.style.palette import styles

NAMES = ("AdamW", "Best <b>", "Second", "Third", "Ensemble", "Quoted \"&'", "Class frequency")
STYLES = styles(NAMES)
PLACES = dict(zip(("Class frequency", "Best <b>", "Second", "Third", "AdamW", "Ensemble",
                   'Quoted "&\''), range(1, 8), strict=True))  # fmt: skip
"""Method → an error, smallest for the class frequencies, which no figure highlights."""
CURVES = {m: np.array([[p + 1.0, p], [p + 1.2, p + 0.1]]) for m, p in PLACES.items()}
GAINS = {m: -values for m, values in CURVES.items()}


def roc(area):
    """Return a separation whose area under the ROC curve grows with `area`."""
    found = Separation(2, np.ones(ENTROPY_BINS), np.ones(ENTROPY_BINS))
    found.true_positive_rates = [FALSE_POSITIVE_RATES ** (1 / area)]
    return found


def rows(place):
    """Return draws at two rows whose distance from the truth grows with the place."""
    draws = np.random.default_rng(place).standard_normal((40, 2))
    draws[:, 1] = 0.5 * draws[:, 0] + place * draws[:, 1]
    return Rows(np.zeros(2), np.zeros(2), draws + 0.1 * place, np.zeros((40, 2)))


def ranked():
    """Return the methods in the order of `PLACES`."""
    by_rank = sorted(PLACES, key=PLACES.__getitem__)
    listed = tuple(
        Place(m, k + 1.0, k + 0.5, k + 1.5, 0.1, 0.0, 0.2, 1.0, ()) for k, m in enumerate(by_rank)
    )
    none = Significance(0.0, 1.0)
    return Ranks("rmse", "RMSE", listed, ("a", "b"), none, none, (), 0.01, 1.0, {})


TRUTH = np.random.default_rng(0).standard_normal((400, 2))
ROWS = {m: rows(p) for m, p in PLACES.items()}
AT = {m: RankPlace(p, p - 0.4, p + 0.4) for m, p in PLACES.items()}
FIGURES = {  # kind → a function of the styles
    "cost": lambda s: draw_costs(
        {m: Point(10 / p, p, 0.1) for m, p in PLACES.items()}, s, "x", "here", ("s", "NLL")),
    "quantiles": lambda s: quantiles.draw(
        {m: levels() ** (1 + p / 4) for m, p in PLACES.items()}, s, "x", "here", 100.0),
    "risk": lambda s: selective.draw(
        {m: p * COVERAGES / 8 for m, p in PLACES.items()}, s, "x", "here"),
    "errors": lambda s: selective.draw_squared_errors(
        {m: COVERAGES ** (1 / p) for m, p in PLACES.items()}, s, "x", "here"),
    "roc": lambda s: separation.draw_roc({m: roc(9 - p) for m, p in PLACES.items()}, s, "x", "h"),
    "ranks": lambda s: draw_ranks(ranked(), s, "x"),
    "timings": lambda s: draw_timings(
        {m: {"fit": p, "predict": p / 2} for m, p in PLACES.items()}, s, "x", "here"),
    "distances": lambda s: draw_distances(
        {m: Distance(p, p, 0.1, 0.1) for m, p in PLACES.items()}, s, "x", "here", "m"),
    "few draws": lambda s: draw_few_samples(CURVES, [1, 8], s, "x", "here", "error"),
    "layers": lambda s: draw_layers(
        Errors(
            "eps_mu", {m: [p, p] for m, p in PLACES.items()}, {"Third": [2.0, None]}, 0.5),
        ["conv", "act"], s, "x", "here"),
    "outputs": lambda s: draw_outputs(
        [Output(0, levels(), levels(), {m: (p, 1.0) for m, p in PLACES.items()})], s, "x", "here"),
    "learning": lambda s: draw_learning(GAINS, s, "x", "here", "accuracy", True),
    "sizes": lambda s: draw_sizes(
        CURVES, np.arange(2.0), s, "x", "here", ("size", "NLL"), False),
    "steps": lambda s: draw_steps(
        {m: [(10.0 * p, p)] for m, p in PLACES.items() if m != "AdamW"}, {"AdamW": [5.0]},
        s, "x", "here", "NLL", False),
    "trials": lambda s: draw_trials(
        {m: ([1, 2], values) for m, values in GAINS.items()}, s, "x", "h", ("n", "score"), True),
    "truth ranks": lambda s: draw_truth_ranks(Agreement(AT, AT, AT["Second"]), s, "x", "here"),
    "bias": lambda s: draw_bias(
        {m: (p, p) for m, p in PLACES.items()}, s, "x", "here"),
    "density": lambda s: draw_density(TRUTH, ROWS, 0, s, "x", "here"),
    "cloud": lambda s: draw_cloud(TRUTH, ROWS, (0, 1), s, "x", "here"),
}  # fmt: skip
