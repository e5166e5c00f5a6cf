"""Distance to certified posteriors, separately for methods that target them and others."""

import math
from collections.abc import Iterator, Mapping

from bnnbench.reports.figures.canvas import Drawing
from bnnbench.reports.figures.truth import draw_bias, draw_cloud, draw_density, draw_truth_ranks
from bnnbench.reports.judge.statistics.rank_bars import agreement
from bnnbench.reports.read.predictions.truths import FLOORED, Comparison, Standing, comparison
from bnnbench.reports.sections.base import Choice, Listing, Material, Section, figures
from bnnbench.reports.style.palette import Style

NOTE = (
    "The posterior of the stated model was sampled by long chains and certified; a method is "
    "scored by the distance of its prediction from the exact one, in standardised target units. "
    "Matched methods target this posterior, so that their distance is an error of inference. "
    "Methods with another prior target another posterior, and the rest target none: their distance "
    "says how well they replace it. Each of the three groups is ranked separately, by KL. KL: from "
    "the exact prediction of a noisy target, in nats. W2: of the noiseless function, relative to "
    "the exact standard deviation; a single function at the exact mean has 1. Floor: the average "
    "W2 of as many exact draws. Mean error: in exact standard deviations. Std ratio: below 1 "
    "is overconfident. Joint KL: of five test rows at once. Correlation error: mean over pairs "
    "of test rows; a dash if a method gives no draws of whole functions. Methods share a rank "
    "if their KL differs by less than that of two halves of the reference."
)
COLUMNS = (
    ("kl_from_truth", "KL"),
    ("w2_relative", "W2"),
    ("mean_error", "mean error"),
    ("std_ratio", "std ratio"),
    ("joint_kl_5", "joint KL"),
    ("correlation_error", "corr. error"),
    ("log_likelihood", "log lik."),
    ("rmse", "RMSE"),
)
HEADINGS = ("Method", "relation to the model", "rank", "draws", "floor of W2")
DASH = "–"
RANKS, BIAS = "Likelihood and truth", "Bias and width"
DENSITY, CLOUDS = "The function at a test row", "Functions at two test rows"
GALLERIES = {
    RANKS: (
        "Rank by log loss on the test rows against rank by KL from the exact posterior, of one run "
        "of each method. Bars are 95 % bootstrap intervals over test rows: test sets are small."
    ),
    BIAS: (
        "Mean error against the ratio of standard deviations, both relative to the exact "
        "posterior: left of the line methods are overconfident, right of it underconfident. "
        "Methods that claim no deviation are left out. Means over seeds."
    ),
    DENSITY: (
        "Densities of the function without noise: grey the exact posterior, lines the nearest "
        "method of each relation and the one with the highest likelihood; a single function is a "
        "vertical line. Standardised units."
    ),
    CLOUDS: (
        "Draws of whole functions at two test rows: small grey points from the exact posterior, "
        "larger ones from the methods that give draws. Captions state the correlations."
    ),
}
DENSITIES, PAIRS = 4, 2
"""The number of figures of single rows, and of pairs of rows, per data set."""


def sections(material: Material) -> Iterator[Section]:
    """Yield the tables and figures of data sets with a certified posterior."""
    choices, drawings = [], {name: [] for name in GALLERIES}
    for benchmark, identifier, where in material.figure_places("truth"):
        compared = comparison(material.store, benchmark)
        if compared:
            choices.append(_choice(compared, where))
            for name, drawing in _drawings(compared, material.styles, identifier, where):
                drawings[name].append(drawing)
    galleries = [
        gallery
        for name, about in GALLERIES.items()
        for gallery in figures(name, about, drawings[name])
    ]
    if choices:
        yield Section(
            "Distance to the exact posterior",
            NOTE,
            choices=tuple(choices),
            galleries=tuple(galleries),
            last=True,
        )


def _drawings(
    compared: Comparison, styles: Mapping[str, Style], identifier: str, where: str
) -> Iterator[tuple[str, Drawing]]:
    """Yield a gallery's name and a figure for it; figures of rows need stored predictions."""
    places = {s.method: (s.mean("std_ratio"), s.mean("mean_error")) for s in compared.standings}
    yield BIAS, draw_bias(places, styles, f"{identifier}-bias", where)
    rows = compared.rows
    if len(rows) > 2:
        losses = {method: -of_method.log_likelihood for method, of_method in rows.items()}
        ranks = agreement(losses, {method: of_method.kl for method, of_method in rows.items()})
        yield RANKS, draw_truth_ranks(ranks, styles, f"{identifier}-ranks", where)
    functions = compared.truth.functions.means.numpy()
    shown = {method: rows[method] for method in _nearest(compared) if method in rows}
    for row in _spread_out(functions.shape[1], DENSITIES):
        name = f"{identifier}-density-{row}"
        yield DENSITY, draw_density(functions, shown, row, styles, name, where)
    drawn = {method: of_method for method, of_method in shown.items() if of_method.are_draws}
    first, *others = _spread_out(functions.shape[1], PAIRS + 1)
    for row in others:
        name = f"{identifier}-cloud-{row}"
        yield CLOUDS, draw_cloud(functions, drawn, (first, row), styles, name, where)


def _nearest(compared: Comparison) -> list[str]:
    """Return the nearest method of each relation, and the method with the highest likelihood."""
    by_relation: dict[str, str] = {}
    for standing in compared.standings:
        by_relation.setdefault(standing.relation, standing.method)
    likeliest = max(compared.standings, key=lambda s: s.mean("log_likelihood"))
    return list(dict.fromkeys([*by_relation.values(), likeliest.method]))


def _spread_out(rows: int, count: int) -> list[int]:
    """Return evenly spaced row numbers."""
    return sorted({rows * (2 * k + 1) // (2 * count) for k in range(count)})


def _choice(compared: Comparison, where: str) -> Choice:
    title = f"{where}: distance to the exact posterior"
    headings = (*HEADINGS, *(heading for _, heading in COLUMNS))
    rows = [
        _fixed_row("exact posterior", compared.exact),
        _fixed_row("two halves of the reference", compared.resolution),
        *_ranked(compared),
    ]
    listing = Listing(title, title, headings, tuple(rows), text_columns=(0, 1))
    return Choice(by="set", name=title, after=(_certificate(compared),), listing=listing)


def _ranked(compared: Comparison) -> Iterator[tuple[str, ...]]:
    """Yield the rows of methods, ranked within each relation; ties share a rank."""
    resolution = compared.resolution["kl_from_truth"]
    place, rank, relation, least = 0, 0, "", math.nan
    for standing in compared.standings:
        if standing.relation != relation:
            place, rank, relation, least = 0, 0, standing.relation, math.nan
        place += 1
        kl = standing.mean("kl_from_truth")
        if not kl - least < resolution:
            rank, least = place, kl
        yield _row(standing, compared, DASH if math.isnan(kl) else str(rank))


def _row(standing: Standing, compared: Comparison, rank: str) -> tuple[str, ...]:
    draws = standing.draws
    floor = DASH if draws is None else _text(compared.floor(draws))
    cells = (_cell(standing, name) for name, _ in COLUMNS)
    count = DASH if draws is None else str(draws)
    return (standing.method, standing.relation, rank, count, floor, *cells)


def _cell(standing: Standing, name: str) -> str:
    error = standing.standard_error(name)
    margin = "" if error is None else f" ± {error:.2g}"
    return _text(standing.mean(name)) + margin


def _fixed_row(title: str, scores: Mapping[str, float]) -> tuple[str, ...]:
    blank = (DASH,) * (len(HEADINGS) - 1)
    return (title, *blank, *(_text(scores.get(name, math.nan)) for name, _ in COLUMNS))


def _text(value: float) -> str:
    if math.isnan(value):
        return DASH
    return "infinite" if math.isinf(value) else f"{value:.3g}"


def _certificate(compared: Comparison) -> str:
    """Return a sentence with the certificate, and with the command that verifies it."""
    stated = compared.reference.certificate
    quantities = stated["quantities"].values()
    r_hat = max(q["r_hat"] for q in quantities)
    ess = min(min(q["ess_bulk"], q["ess_tail"]) for q in quantities)
    return (
        f"The reference {compared.reference.name} of {stated['date']}: {stated['chains']} chains "
        f"in two runs, R-hat at most {r_hat:.4f} and effective sample size at least {ess:.0f} over "
        f"all test rows, 50 training rows, loss, weights and density; means of the two runs "
        f"within {stated['repeat']['worst_mean_z']:.1f} standard errors. "
        f"`bnnbench truth verify {compared.reference.name}` checks it; W2 of two of its "
        f"halves is {compared.resolution[FLOORED]:.3g}."
    )
