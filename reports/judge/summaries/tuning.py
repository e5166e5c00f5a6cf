"""Results of hyperparameter searches: expected best of n trials, choices, space edges, regret."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from math import comb
from statistics import median

import numpy as np
from jaxtyping import Float

from bnnbench.engine.records.record import Record
from bnnbench.methods.tuning.search import Search
from bnnbench.metrics import METRICS
from bnnbench.reports.read.benchmarks import Benchmark
from bnnbench.reports.read.exclusions import is_constant

EDGE = 0.1
"""A choice in this outer share of a setting's search distribution lies on an edge."""

NARROW = 0.5
"""Share of choices on an edge above which a space is too narrow."""

RESAMPLES = 1000


@dataclass(frozen=True)
class Choice:
    """The search of one fold, and the run that uses its choice."""

    record: Record
    search: Search

    @property
    def trial(self) -> int:
        """The chosen trial."""
        return int(self.record.outcome.diagnostics.get("chosen_trial", -1))

    @property
    def length(self) -> int | None:
        """The chosen length; None for a method without a length."""
        return self.search.lengths[self._rung]

    @property
    def settings(self) -> Mapping[str, object]:
        """The chosen settings."""
        return self.search.settings[self.trial]

    @property
    def edges(self) -> list[str]:
        """The settings whose choice lies on an edge of the space, "length" among them."""
        return [path for path, side in self.sides.items() if side]

    @property
    def sides(self) -> dict[str, int]:
        """Setting → -1 for a choice on the low edge, 1 on the high edge, else 0; "length" last."""
        places = dict(self.search.places[self.trial])
        if len(self.search.lengths) > 1:
            places["length"] = self._rung / (len(self.search.lengths) - 1)
        return {path: (u > 1 - EDGE) - (u < EDGE) for path, u in places.items()}

    @property
    def is_halved(self) -> bool:
        """True if the search gave longer lengths to fewer trials, and refitted only the chosen one.

        The test scores of other trials are then unknown.
        """
        method = self.record.run.get("method")
        return isinstance(method, Mapping) and method.get("halving") is True

    @property
    def seconds(self) -> float:
        """Wall seconds of all fits of the search."""
        return float(self.search.seconds.sum())

    @property
    def _rung(self) -> int:
        rung = self.search.best_lengths[self.trial]
        assert rung is not None
        return rung


def choices(runs: Sequence[Record]) -> list[Choice]:
    """Return the choices of completed runs whose settings were searched.

    Runs of one fold share its search, which is read once. A search that cannot be read is left
    out; `verify --rescore` names it.
    """
    chosen = []
    read: dict[int, tuple[object, Search]] = {}
    for record in runs:
        if record.outcome.status == "completed" and record.outcome.search is not None:
            data, search = read.get(record.fold, (None, None))
            with suppress(ValueError):
                if search is None or data != record.outcome.search:
                    search = Search.from_data(record.outcome.search)
                    read[record.fold] = record.outcome.search, search
                choice = Choice(record, search)
                if choice.trial in choice.search.ranking:
                    chosen.append(choice)
    return chosen


def expected_best(worst_first: Sequence[float]) -> list[float]:
    r"""Return the expected score of the preferred one of n trials, for n = 1, 2, ....

    The scores are in the order of preference, the preferred one last; the n trials are drawn
    without replacement from all N:

    $$ E_n = \sum_{i=n}^{N} t_{(i)} \binom{i-1}{n-1} / \binom{N}{n} $$
    """
    count = len(worst_first)
    return [
        sum(
            score * (comb(place - 1, n - 1) / comb(count, n))
            for place, score in enumerate(worst_first, 1)
        )
        for n in range(1, count + 1)
    ]


@dataclass(frozen=True)
class Tuning:
    """The searches of a method on one data set."""

    method: str
    choices: tuple[Choice, ...]
    floors: Mapping[int, Mapping[str, float]]
    """Fold → metric → score of a constant prediction, which is used for trials that diverged."""

    @property
    def trials(self) -> int:
        """The number of trials of each search."""
        return len(self.choices[0].search.settings)

    @property
    def from_held_out_rows(self) -> str:
        """The other quantity chosen on held-out rows: "noise", "temperature" or ""."""
        search = self.choices[0].search
        if np.isfinite(search.noise_variance).any():
            return "noise"
        return "temperature" if np.isfinite(search.temperature).any() else ""

    @cached_property
    def on_an_edge(self) -> float:
        """The share of folds whose choice of a setting or of the length lies on an edge."""
        by_search = {c.record.fold: bool(c.edges) for c in self.choices}
        return sum(by_search.values()) / len(by_search)

    @property
    def is_narrow(self) -> bool:
        """True if so many choices lie on an edge that a wider space may be better."""
        return self.on_an_edge > NARROW

    def medians(self) -> dict[str, tuple[object, object, object]]:
        """Return setting → median, minimum and maximum choice over folds, "length" last.

        Settings that are not numbers have the values that occur, without a median.
        """
        first = {choice.record.fold: choice for choice in self.choices}.values()
        paths = [*next(iter(first)).settings]
        values = {
            path: [plain_setting(choice.settings[path]) for choice in first] for path in paths
        }
        values["length"] = [choice.length for choice in first]
        return {path: _summary(of_path) for path, of_path in values.items() if None not in of_path}

    def curve(self, metric: str) -> Float[np.ndarray, "folds trials"] | None:
        """Return the expected test score of the best of n trials by fold; None if unknown."""
        by_fold: dict[int, list[list[float]]] = {}
        for choice in self.choices:
            scores = self._test_scores(choice, metric)
            if scores is not None:
                by_fold.setdefault(choice.record.fold, []).append(expected_best(scores))
        if not by_fold:
            return None
        return np.array([np.mean(curves, 0) for curves in by_fold.values()])

    def regret(self, metric: str) -> float | None:
        """Return the gap between the best refit and the chosen one; it is not achievable."""
        gaps = []
        for choice in [choice for choice in self.choices if not choice.is_halved]:
            scores = [
                one[metric] for one in choice.record.outcome.trial_scores.values() if metric in one
            ]
            chosen = choice.record.outcome.trial_scores.get(str(choice.trial), {}).get(metric)
            if chosen is not None:
                best = max(scores) if METRICS[metric].higher_is_better else min(scores)
                gaps.append(abs(best - chosen))
        return float(np.mean(gaps)) if gaps else None

    def within(self, budgets: Mapping[int, float], metric: str) -> float | None:
        """Return the mean test score that a search within each fold's budget (in seconds) finds.

        Trials are run in order until the next would exceed the budget, and the preferred one
        counts; a constant prediction replaces a method that cannot finish a trial. None if unknown.
        """
        scores = []
        for choice in self.choices:
            spent = np.cumsum(choice.search.seconds.sum(1))
            made = int((spent <= budgets.get(choice.record.fold, 0.0)).sum())
            preferred = next((t for t in choice.search.ranking if t < made), None)
            tests = choice.record.outcome.trial_scores.get(str(preferred), {})
            floor = self.floors.get(choice.record.fold, {})
            score = tests.get(metric, floor.get(metric))
            if score is None or choice.is_halved:
                return None
            scores.append(score)
        return float(np.mean(scores))

    def _test_scores(self, choice: Choice, metric: str) -> list[float] | None:
        """Return the test score of each trial's refit, the preferred trial last."""
        scores = {
            int(trial): one[metric]
            for trial, one in choice.record.outcome.trial_scores.items()
            if metric in one
        }
        if not scores or choice.is_halved:
            return None
        worst = min if METRICS[metric].higher_is_better else max
        floor = self.floors.get(choice.record.fold, {}).get(metric, worst(scores.values()))
        ranked = choice.search.ranking
        failed = [trial for trial in range(self.trials) if trial not in ranked]
        return [scores.get(trial, floor) for trial in (*failed, *reversed(ranked))]


def budgets_of(tuning: Tuning) -> dict[int, float]:
    """Return fold → seconds of a method's whole search."""
    folds: dict[int, list[float]] = {}
    for choice in tuning.choices:
        folds.setdefault(choice.record.fold, []).append(choice.seconds)
    return {fold: float(np.mean(seconds)) for fold, seconds in folds.items()}


def tunings(benchmark: Benchmark, methods: Sequence[str]) -> list[Tuning]:
    """Return the searches of each method on the benchmark's data set."""
    floors: dict[int, Mapping[str, float]] = {}
    for runs in benchmark.runs.values():
        if is_constant(runs):
            floors |= {r.fold: r.outcome.scores.get(benchmark.main, {}) for r in runs}
    searched = ((m, choices(benchmark.runs.get(m, ()))) for m in methods)
    return [Tuning(method, tuple(of_method), floors) for method, of_method in searched if of_method]


def band(
    curves: Float[np.ndarray, "folds trials"], seed: int = 0
) -> tuple[Float[np.ndarray, " trials"], Float[np.ndarray, " trials"]]:
    """Return a 90 % interval of the mean curve, by resampling folds."""
    rng = np.random.default_rng(seed)
    drawn = rng.integers(len(curves), size=(RESAMPLES, len(curves)))
    low, high = np.quantile(curves[drawn].mean(1), [0.05, 0.95], axis=0)
    return low, high


def plain_setting(value: object) -> object:
    """Return the value of a setting, unwrapped from a tuple of length one."""
    return value[0] if isinstance(value, tuple) and len(value) == 1 else value


def _summary(values: Sequence[object]) -> tuple[object, object, object]:
    numbers = [v for v in values if isinstance(v, int | float)]
    if len(numbers) == len(values):
        return median(numbers), min(numbers), max(numbers)
    texts = sorted(set(map(str, values)))
    return " or ".join(texts), texts[0], texts[-1]
