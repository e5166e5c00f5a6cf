"""Distance to certified posteriors: methods that aim at them apart from those that do not."""

import math
from collections.abc import Iterator, Mapping

from bnnbench.reports.read.truths import FLOORED, Comparison, Standing, comparison
from bnnbench.reports.sections.base import Choice, Listing, Material, Section, where_of

NOTE = (
    "The posterior of the stated model was sampled by long chains and certified; a method is "
    "scored by how far its prediction is from that one, in standardised target units. Matched "
    "methods aim at this posterior, so that their distance is an error of inference. Those of "
    "another prior aim at another posterior, and the rest at none: their distance says how well "
    "they stand in for it. Each of the three has a ranking of its own, by KL. KL: from the exact "
    "prediction of a noisy target, in nats. W2: of the noiseless function, relative to the exact "
    "standard deviation; a single function at the exact mean has 1. Floor: the W2 that as many "
    "exact draws have on average. Mean error: in exact standard deviations. Std ratio: below 1 "
    "is overconfident. Joint KL: of five test rows at once. Correlation error: mean over pairs "
    "of test rows; a dash where a method gives no draws of whole functions. Methods share a rank "
    "where their KL differs by less than two halves of the reference do."
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


def sections(material: Material) -> Iterator[Section]:
    """Yield the tables of data sets with a certified posterior."""
    choices = []
    for benchmark in material.benchmarks:
        found = comparison(material.store, benchmark)
        if found:
            choices.append(_choice(found, where_of(benchmark, benchmark.origin)))
    if choices:
        yield Section("Distance to the exact posterior", NOTE, choices=tuple(choices), last=True)


def _choice(found: Comparison, where: str) -> Choice:
    title = f"{where}: distance to the exact posterior"
    headings = (*HEADINGS, *(heading for _, heading in COLUMNS))
    rows = [
        _fixed_row("exact posterior", found.exact),
        _fixed_row("two halves of the reference", found.resolution),
        *_ranked(found),
    ]
    listing = Listing(title, title, headings, tuple(rows), text_columns=(0, 1))
    return Choice(by="set", name=title, after=(_certificate(found),), listing=listing)


def _ranked(found: Comparison) -> Iterator[tuple[str, ...]]:
    """Yield the rows of methods, ranked within each relation; ties share a rank."""
    resolution = found.resolution["kl_from_truth"]
    place, rank, relation, least = 0, 0, "", math.nan
    for standing in found.standings:
        if standing.relation != relation:
            place, rank, relation, least = 0, 0, standing.relation, math.nan
        place += 1
        kl = standing.mean("kl_from_truth")
        if not kl - least < resolution:
            rank, least = place, kl
        yield _row(standing, found, DASH if math.isnan(kl) else str(rank))


def _row(standing: Standing, found: Comparison, rank: str) -> tuple[str, ...]:
    draws = standing.draws
    floor = DASH if draws is None else _text(found.floor(draws))
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


def _certificate(found: Comparison) -> str:
    """Return the certificate in a sentence, with the command that verifies it."""
    stated = found.reference.certificate
    quantities = stated["quantities"].values()
    r_hat = max(q["r_hat"] for q in quantities)
    ess = min(min(q["ess_bulk"], q["ess_tail"]) for q in quantities)
    return (
        f"The reference {found.reference.name} of {stated['date']}: {stated['chains']} chains in "
        f"two runs, R-hat at most {r_hat:.4f} and effective sample size at least {ess:.0f} over "
        f"all test rows, 50 training rows, loss, weights and density; means of the two runs "
        f"within {stated['repeat']['worst_mean_z']:.1f} standard errors. "
        f"`bnnbench references verify {found.reference.name}` checks it; W2 of two of its halves "
        f"is {found.resolution[FLOORED]:.3g}."
    )
