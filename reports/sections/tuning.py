"""Hyperparameter searches: their choices and costs, and the expected effect of more trials.

"Not achieved" is the regret: how much better the best of all refits is than the chosen one.
"""

from collections.abc import Iterator, Mapping

from bnnbench.methods.tuning.space import last_part
from bnnbench.metrics import METRICS
from bnnbench.reports.figures.canvas import Drawing
from bnnbench.reports.figures.curves import draw_trials
from bnnbench.reports.figures.sensitivity import draw_sensitivity
from bnnbench.reports.judge.summaries.sensitivity import Sensitivity, sensitivities
from bnnbench.reports.judge.summaries.tuning import NARROW, Tuning, budgets_of, tunings
from bnnbench.reports.read.benchmarks import Benchmark
from bnnbench.reports.sections.base import (
    Choice,
    Gallery,
    Listing,
    Material,
    Section,
    figures,
)
from bnnbench.reports.sections.edges import edges
from bnnbench.reports.style import labels
from bnnbench.reports.style.numbers import identifier
from bnnbench.reports.style.palette import Style

SCORES = ("log_likelihood", "nll", "rmse", "accuracy")
"""Scores of trials; the first two available on a data set are drawn."""

BASE, MULTIPLES = "AdamW", (1, 4, 16)
"""The method whose search defines the unit of equal seconds, and its multiples."""

HEADINGS = (
    *("Method", "From held-out rows", "Trials", "On an edge", "Search", "Refit", "Not achieved"),
    "Chosen settings: median (minimum to maximum)",
)

NOTE = (
    "Every fold's settings and length and, if the table says so, the noise of a regression or "
    "the temperature of probabilities were chosen on rows held out from that fold's training "
    "rows; otherwise a method's own noise counts. No test row was used. The search counts towards "
    "the method's cost."
)

SENSITIVITY = (
    "Held-out log likelihood, minus the best of its fold, against the position of a setting in its "
    "space. A line for each data set shows the best trial nearby, averaged over folds. The axis "
    "ends where the worst quarter of a data set's trials begins. A line that falls "
    "towards both ends supports the bounds of the space; a level one means that the setting does "
    "not matter."
)


def sections(material: Material) -> Iterator[Section]:
    """Yield a section on the data sets on which settings were searched."""
    choices, drawings, narrow = [], [], {}
    over_settings: dict[str, dict[str, list[Sensitivity]]] = {}
    over_sets: dict[str, list[Tuning]] = {}
    for benchmark, name, where in material.figure_places("tuning"):
        searches = tunings(benchmark, material.methods)
        if not searches:
            continue
        listing = Listing(
            f"Settings chosen on {where}",
            where,
            HEADINGS,
            tuple(_row(one, benchmark) for one in searches),
            (0, 1, 7),
        )
        choices.append(Choice(by="set", name=where, listing=listing))
        if league := equal_seconds(searches, where):
            choices.append(Choice(by="set", name=f"{where}, equal seconds", listing=league))
        drawings += tuning_drawings(searches, material.styles, name, where)
        for one in searches:
            over_sets.setdefault(one.method, []).append(one)
            if by_setting := sensitivities(one):
                over_settings.setdefault(one.method, {})[where] = by_setting
            if one.is_narrow:
                narrow.setdefault(one.method, []).append(where)
    about = (
        "The expected test score of the trial with the best held-out score among n, refitted to "
        "all training rows; bands are 90 % intervals over folds. It can get worse with n if "
        "there are too few held-out rows."
    )
    galleries = figures("Best of n trials", about, drawings)
    if over_settings:
        rows = tuple(
            draw_sensitivity(
                *(method, by_set, material.styles[method]),
                identifier(material.anchor, "sensitivity", number),
            )
            for number, (method, by_set) in enumerate(over_settings.items())
        )
        galleries += (Gallery("Sensitivity", SENSITIVITY, rows, wide=True),)
    if choices:
        if bounds := edges(over_sets, "all data sets"):
            choices.append(Choice(by="set", name="all, bounds of spaces", listing=bounds))
        yield Section(
            "Tuning",
            " ".join([NOTE, *_narrow_sentences(narrow)]),
            choices=tuple(choices),
            galleries=galleries,
        )


def equal_seconds(searches: list[Tuning], where: str) -> Listing | None:
    """Return methods by the results of equally long searches; None without the base's search."""
    base = next((one for one in searches if one.method == BASE), None)
    metric = next((n for n in SCORES if base and base.curve(n) is not None), None)
    if base is None or metric is None or len(searches) < 2:
        return None
    budget = budgets_of(base)
    rows = []
    for one in searches:
        scores = [
            one.within({fold: times * seconds for fold, seconds in budget.items()}, metric)
            for times in MULTIPLES
        ]
        rows.append((one.method, *("" if s is None else f"{s:.3f}" for s in scores)))
    seconds = sum(budget.values()) / len(budget)
    return Listing(
        f"{labels.metric(metric)} after equal seconds of search on {where}",
        f"{where}-seconds",
        ("Method", *(f"{times * seconds:.3g} s" for times in MULTIPLES)),
        tuple(rows),
        (0,),
    )


def tuning_drawings(
    searches: list[Tuning], styles: Mapping[str, Style], mark: str, where: str
) -> list[Drawing]:
    """Return a figure for each of two scores: against trials, and against seconds of the search."""
    drawings = []
    for metric in [n for n in SCORES if any(one.curve(n) is not None for one in searches)][:2]:
        curves = {one.method: c for one in searches if (c := one.curve(metric)) is not None}
        seconds = {one.method: _seconds(one) for one in searches}
        by_trials = {m: (range(1, c.shape[1] + 1), c) for m, c in curves.items()}
        by_cost = {
            m: ([n / c.shape[1] * seconds[m] for n in range(1, c.shape[1] + 1)], c)
            for m, c in curves.items()
            if seconds[m] > 0
        }
        up = labels.metric(metric)
        for kind, across, points in (
            ("trials", "trials", by_trials),
            ("seconds", "seconds of search in a fold", by_cost),
        ):
            if any(c.shape[1] > 1 for _, c in points.values()):
                name = f"{mark}-{metric}-{kind}"
                higher = bool(METRICS[metric].higher_is_better)
                drawings.append(draw_trials(points, styles, name, where, (across, up), higher))
    return drawings


def _row(one: Tuning, benchmark: Benchmark) -> tuple[str, ...]:
    settings = "; ".join(
        f"{last_part(path).replace('_', ' ')} {_span(*values)}"
        for path, values in one.medians().items()
    )
    metric = next((n for n in SCORES if one.regret(n) is not None), None)
    regret = f"{one.regret(metric):.3g}" if metric else ""
    refits = [c.record.cost.fit_seconds - _share(one, c.seconds) for c in one.choices
              if c.record.cost]  # fmt: skip
    refit = sum(refits) / len(refits) if refits else 0.0
    return (
        *(
            one.method,
            one.from_held_out_rows,
            str(one.trials),
            f"{one.on_an_edge:.0%}",
            f"{_seconds(one):.3g} s",
        ),
        *(f"{max(refit, 0.0):.3g} s", regret, settings or "none to choose"),
    )


def _seconds(one: Tuning) -> float:
    """Return the mean seconds of a fold's search."""
    return sum(choice.seconds for choice in one.choices) / len(one.choices)


def _share(one: Tuning, seconds: float) -> float:
    """Return a run's share of its fold's search, which all seeds of the fold share."""
    folds = {choice.record.fold for choice in one.choices}
    return seconds * len(folds) / len(one.choices)


def _span(middle: object, least: object, largest: object) -> str:
    if not isinstance(middle, int | float):
        return str(middle)
    return f"{middle:.3g} ({least:.3g} to {largest:.3g})"


def _narrow_sentences(narrow: Mapping[str, list[str]]) -> Iterator[str]:
    if narrow:
        listed = "; ".join(f"{method} on {', '.join(sets)}" for method, sets in narrow.items())
        yield (
            f"More than {NARROW:.0%} of the choices lie on an edge of the space, which may be too "
            f"narrow: {listed}."
        )
