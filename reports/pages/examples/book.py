"""The predictions of all methods for the examples of one condition, and their inputs."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from bnnbench.engine.records.record import Record
from bnnbench.engine.store.store import Store
from bnnbench.reports.pages.examples.choice import Pair, axis, bins, cells, compared
from bnnbench.reports.pages.examples.inputs import DIGITS, Inputs, NotShown, inputs_of
from bnnbench.reports.pages.examples.predicted import Folds, Kind, Predicted, joined, predicted
from bnnbench.reports.read.benchmarks import Benchmark
from bnnbench.reports.read.merge import is_rounded

MOST_CONDITIONS = 6
MOST_METHODS = 16
"""Maximum number of methods on a page; those with the best mean log scores are shown."""

Place = tuple[int, int]
"""An example: its fold, and its row among the test rows of the fold."""


@dataclass
class Book:
    """The examples of one condition of a benchmark."""

    condition: str
    kind: Kind
    methods: Mapping[str, Folds]
    """Method → fold → its predictions, the best mean log score first."""
    left_out: tuple[str, ...]
    """Methods whose predictions are omitted because other methods have better log scores."""
    runs: Mapping[int, Sequence[Record]]
    """fold → the runs behind these predictions"""
    rounded: bool
    """True if predictions of some run are rounded."""
    not_shown: dict[str, None] = field(default_factory=dict)
    """Reasons why inputs are not shown."""
    _inputs: dict[int, Inputs | None] = field(default_factory=dict)

    @cached_property
    def ends(self) -> tuple[float, float]:
        """The ends of the axis of log scores, common to all methods."""
        return axis([one.scores for folds in self.methods.values() for one in folds.values()])

    def common_folds(self, first: str, second: str) -> list[int]:
        """Return the folds for which both methods have predictions, in order."""
        return sorted(self.methods[first].keys() & self.methods[second].keys())

    def both(self, first: str, second: str) -> tuple[Predicted, Predicted, list[Place]]:
        """Return two methods' predictions on their common folds, and the place of each example."""
        folds = self.common_folds(first, second)
        one, other = (joined(self.methods[method], folds) for method in (first, second))
        rows = [(fold, len(self.methods[first][fold].targets)) for fold in folds]
        return one, other, [(fold, row) for fold, count in rows for row in range(count)]

    def pair(self, first: str, second: str) -> tuple[Pair, list[Place], list[tuple[int, int]]]:
        """Return two methods' differences, the places of the examples, and cells of both scores."""
        one, other, places = self.both(first, second)
        pair = compared(one, other, lambda i: self.sight(places[i]))
        return pair, places, cells(bins(one.scores, self.ends), bins(other.scores, self.ends))

    def said(self, method: str, place: Place) -> Predicted:
        """Return a method's prediction for one example."""
        fold, row = place
        one = self.methods[method][fold]
        alone = slice(row, row + 1)
        return Predicted(
            one.kind, one.seeds, one.targets[alone], one.answers[alone], one.scores[alone]
        )

    def target(self, place: Place) -> float:
        """Return the target of an example."""
        fold, row = place
        return next(f[fold].targets[row] for f in self.methods.values() if fold in f).item()

    def sight(self, place: Place) -> Hashable:
        """Return what a reader sees of an example; only its place if its inputs are unknown."""
        fold, row = place
        inputs = self.inputs(fold)
        if inputs is None:
            return place
        seen = inputs.image(row).tobytes() if inputs.are_images else inputs.features_of(row)
        return seen, f"{self.target(place):.{DIGITS}g}"

    def inputs(self, fold: int) -> Inputs | None:
        """Return the inputs of a fold; None, with a recorded reason, if they cannot be shown."""
        if fold not in self._inputs:
            targets = next(f[fold].targets for f in self.methods.values() if fold in f)
            try:
                self._inputs[fold] = inputs_of(self.runs[fold], self.condition, targets)
            except NotShown as reason:
                self.not_shown[str(reason)] = None
                self._inputs[fold] = None
        return self._inputs[fold]


def books(benchmark: Benchmark, store: Store) -> list[Book]:
    """Return the examples of each condition under which two methods or more can be compared."""
    conditions = shown_conditions(benchmark)
    predictions = {m: predicted(store, runs, conditions) for m, runs in benchmark.runs.items()}
    by_condition = ((c, {m: of[c] for m, of in predictions.items() if c in of}) for c in conditions)
    made = (_book(benchmark, condition, methods, store) for condition, methods in by_condition)
    return [book for book in made if book]


def shown_conditions(benchmark: Benchmark) -> list[str]:
    """Return clean test data, other conditions, and the largest size of each family.

    Out-of-distribution data are left out, since their targets are not those of an example.
    """
    families: dict[object, tuple[float, str]] = {}
    chosen: list[str] = []
    for name in benchmark.conditions:
        traits = benchmark.traits[name]
        if traits.outside or traits.parts:
            continue
        if traits.family is None or traits.size is None:
            chosen.append(name)
        else:
            families[traits.family] = max(
                families.get(traits.family, (-np.inf, "")), (traits.size, name)
            )
    return [*chosen, *(name for _, name in families.values())][:MOST_CONDITIONS]


def _book(
    benchmark: Benchmark, condition: str, by_method: Mapping[str, Folds], store: Store
) -> Book | None:
    """Return the book of a condition; None unless two methods have a fold in common."""
    first: dict[int, Predicted] = {}
    methods: dict[str, dict[int, Predicted]] = {}
    for method, folds in by_method.items():
        for fold, one in folds.items():
            if _alike(first.setdefault(fold, one), one):
                methods.setdefault(method, {})[fold] = one
    if not any(len([m for m in methods.values() if fold in m]) > 1 for fold in first):
        return None
    means = {m: np.concatenate([f.scores for f in folds.values()]).mean()
             for m, folds in methods.items()}  # fmt: skip
    order = sorted(methods, key=lambda m: -means[m])
    runs = {
        fold: [
            run
            for method in methods
            for run in benchmark.runs[method]
            if run.fold == fold and fold in methods[method]
            and run.seed in methods[method][fold].seeds
        ]
        for fold in first
    }  # fmt: skip
    shown = {m: methods[m] for m in order[:MOST_METHODS]}
    kind = next(iter(first.values())).kind
    rounded = any(is_rounded(store, run.key) for of in runs.values() for run in of)
    return Book(condition, kind, shown, tuple(order[MOST_METHODS:]), runs, rounded)


def _alike(first: Predicted, other: Predicted) -> bool:
    """Return whether predictions have the same examples and the same form."""
    same_form = first.kind == other.kind and first.answers.shape == other.answers.shape
    return same_form and np.array_equal(first.targets, other.targets)
