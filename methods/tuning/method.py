"""A method whose settings and length are chosen on held-out rows of its training data.

Every method has the same number of trials, drawn by the same rule. Several blocks of rows are held
out in turn, and each trial is fitted to the remaining rows for every length; the chosen trial is
refitted to all rows.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal

import torch

from bnnbench.datasets.base import Categorical, Gaussian, Likelihood
from bnnbench.methods.adamw import AdamW
from bnnbench.methods.base import InferenceDiverged, Method, Posterior, PriorUse, Problem, prior_use
from bnnbench.methods.card import Card
from bnnbench.methods.checkpoints import checkpoint
from bnnbench.methods.fitting import progress
from bnnbench.methods.fitting.batched import Batched
from bnnbench.methods.fitting.settings import (
    LATER,
    require_between,
    require_choice,
    require_count,
)
from bnnbench.methods.networks.heteroscedastic import states_variance
from bnnbench.methods.tuning import trials
from bnnbench.methods.tuning.fits import fit_all, fits_as_one_call
from bnnbench.methods.tuning.plan import Plan, lengths
from bnnbench.methods.tuning.posterior import ATTEMPTS, as_chosen
from bnnbench.methods.tuning.rows import PARTS, blocks_of, rows_of
from bnnbench.methods.tuning.search import Search
from bnnbench.methods.tuning.space import Space, for_trained, space_of
from bnnbench.methods.tuning.tables import Tables
from bnnbench.methods.tuning.wider import wider

Noise = Literal["own", "held_out"]


@dataclass(frozen=True)
class Tuned(Batched):
    """A method with the settings and the length that predict held-out training rows best.

    Settings outside the method's space keep their values in `method`. If the problem brings
    calibration rows, they take the place of held-out rows; if it brings a trained network, learning
    rates are lower (`tuning.space.for_trained`).
    """

    card: ClassVar[Card] = Card(around="its settings are searched on held-out training rows")
    space: ClassVar[Space] = Space()

    method: Method = field(default_factory=AdamW)
    """The method whose settings are chosen, and its other settings."""
    trials: int = 16
    """Number of trials, a power of two; fewer if a space has fewer different settings."""
    blocks: int | None = None
    """Number of held-out blocks out of five; None: one to three, with 2,000 rows if possible."""
    lengths: tuple[int, ...] = ()
    """Lengths to try; empty: the space's or, for gradient descent, successive doublings."""
    updates: int = 25_000
    """Approximate maximum number of gradient steps of the longest fit among these doublings."""
    noise: Noise = "held_out"
    """Source of a regression's noise, if that is one number: training ("own") or held-out rows.
    Class probabilities are unchanged ("own") or have the best temperature for held-out rows."""
    halving: bool = False
    """If true, fit fewer trials for longer lengths: the better half each time."""
    wide: bool = field(default=False, metadata=LATER)
    """If true, distributions and lengths reach farther where earlier searches chose often at their
    bounds (`tuning.wider`)."""

    def __post_init__(self) -> None:
        require_count(self, "trials", "updates")
        require_choice(self, "noise", ("own", "held_out"))
        if self.trials & (self.trials - 1):
            raise ValueError(f"Tuned needs trials to be a power of two; got {self.trials}")
        if self.blocks is not None:
            require_count(self, "blocks")
            require_between(self, 1, PARTS + 1, "blocks")
        if list(self.lengths) != sorted(set(self.lengths)) or any(n < 1 for n in self.lengths):
            raise ValueError(f"Tuned needs ascending lengths of at least 1; got {self.lengths}")
        space_of(self.method)

    @property
    def prior_use(self) -> PriorUse | None:
        """The prior use of the tuned method."""
        return prior_use(self.method)

    def fit_many(
        self, problems: Sequence[Problem], rngs: Sequence[torch.Generator]
    ) -> list[Posterior | InferenceDiverged]:
        """Return the posterior of each problem at its choice, or the failure of its inference.

        Problems with equal rows share one search, which does not draw from `rngs`.
        """
        first = problems[0]
        plan = self.plan(
            len(first.train),
            first.likelihood,
            continues=first.start is not None,
            calibrated=first.calibration is not None,
        )
        if states_variance(first.architecture):
            plan = replace(plan, held_out_noise=False)
        distinct = {rows_of(problem): problem for problem in problems}
        searches = dict(zip(distinct, searched(plan, list(distinct.values())), strict=True))
        search_of_each = [searches[rows_of(problem)] for problem in problems]
        return refitted(plan, problems, rngs, search_of_each)

    def plan(
        self,
        rows: int,
        likelihood: Likelihood,
        *,
        continues: bool = False,
        calibrated: bool = False,
    ) -> Plan:
        """Return the fits of the search for problems with this number of training rows.

        It `continues` from trained weights, or is `calibrated` by rows that are not for training.
        """
        space = wider(space_of(self.method)) if self.wide else space_of(self.method)
        space = for_trained(space) if continues else space
        return Plan(
            self.method,
            space,
            tuple(trials.settings(space, self.trials)),
            tuple(trials.distinct_places(space, self.trials)),
            lengths(self.method, space, self.lengths, rows - rows // PARTS, self.updates),
            1 if calibrated else self.blocks or blocks_of(rows),
            self.noise == "held_out" and space.learned_noise and likelihood == Gaussian(None),
            self.noise == "held_out" and isinstance(likelihood, Categorical),
            self.halving,
        )


def searched(plan: Plan, problems: Sequence[Problem]) -> list[Search | None]:
    """Return the search of each problem, or None if there is nothing to choose."""
    if plan.is_empty:
        return [None] * len(problems)
    tables = [Tables(plan, problem) for problem in problems]
    steps = _steps(plan)
    scopes = checkpoint.scopes(steps)
    for step in checkpoint.epochs(steps, *(array for table in tables for array in table.arrays)):
        rung, only = (step, None) if fits_as_one_call(plan.method) else divmod(step, plan.trials)
        cells = [
            (table, trial)
            for table in tables
            for trial in table.alive(rung)
            if only in (None, trial)
        ]
        if cells:
            with scopes[step](), progress.part(step, steps + 1):
                _fit_cells(plan, rung, cells)
    return [table.search() for table in tables]


def refitted(
    plan: Plan,
    problems: Sequence[Problem],
    rngs: Sequence[torch.Generator],
    searches: Sequence[Search | None],
) -> list[Posterior | InferenceDiverged]:
    """Return the posterior of each problem at its chosen trial and length.

    All trials are fitted at their best lengths, for curves. A search by halving has no such curves:
    only the preferred trial is fitted or, if it diverges, the next.
    """
    fitted: list[dict[int, Posterior | InferenceDiverged]] = [{} for _ in problems]
    steps = 0 if plan.is_empty else _steps(plan)
    for attempt in range(ATTEMPTS if plan.halving else 1):
        members = [
            (number, trial, rung)
            for number, search in enumerate(searches)
            for trial, rung in _to_refit(search, plan.halving, attempt, fitted[number])
        ]
        with progress.part(steps, steps + 1):
            fits = fit_all(
                [plan.variant(trial, rung) for _, trial, rung in members],
                [problems[number] for number, _, _ in members],
                [rngs[number] for number, _, _ in members],
            )
        for (number, trial, _), result in zip(members, fits.results, strict=True):
            fitted[number][trial] = result
    return [
        as_chosen(search, refits) if search else refits[0]
        for search, refits in zip(searches, fitted, strict=True)
    ]


def _to_refit(
    search: Search | None,
    halving: bool,
    attempt: int,
    before: Mapping[int, Posterior | InferenceDiverged],
) -> list[tuple[int, int]]:
    """Return the trials to be fitted to all rows, each with the index of its best length."""
    if search is None:
        return [] if before else [(0, 0)]
    best = [(trial, rung) for trial, rung in enumerate(search.best_lengths) if rung is not None]
    if not halving:
        return best
    if not all(isinstance(result, InferenceDiverged) for result in before.values()):
        return []
    return [(trial, dict(best)[trial]) for trial in search.ranking[attempt : attempt + 1]]


def _steps(plan: Plan) -> int:
    """Return the number of fit calls in the search."""
    return len(plan.lengths) * (1 if fits_as_one_call(plan.method) else plan.trials)


def _fit_cells(plan: Plan, rung: int, cells: Sequence[tuple[Tables, int]]) -> None:
    """Fit trials to problems without each held-out block, and score them."""
    members = [(table, trial, block) for table, trial in cells for block in range(plan.blocks)]
    streams = {(id(t), b): t.stream("fit", b) for t, _, b in members}
    fits = fit_all(
        [plan.variant(trial, rung) for _, trial, _ in members],
        [table.cases[block].problem for table, _, block in members],
        [streams[id(table), block] for table, _, block in members],
    )
    for number, (table, trial) in enumerate(cells):
        mine = slice(number * plan.blocks, (number + 1) * plan.blocks)
        table.score(trial, rung, fits.results[mine], sum(fits.seconds[mine]))
