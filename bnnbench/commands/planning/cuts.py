"""Cuts of a suite, in a fixed order, until it fits into a time limit."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from bnnbench.engine.declare.grid import Suite
from bnnbench.methods.base import Method
from bnnbench.methods.tuning.method import Tuned
from bnnbench.methods.tuning.space import space_of
from bnnbench.wording import listed

TRIALS = (8, 4)
SPLITS = 3
FEWEST_METHODS = 2
"""Number of methods that are never left out, such as a constant and the fastest other one."""

Seconds = Callable[[Suite], float]
"""A function that estimates the time of a suite."""


@dataclass(frozen=True)
class Fixed:
    """Parts of a suite that the command line asks for, which are never cut."""

    methods: bool = False
    splits: bool = False
    trials: frozenset[str] = frozenset()
    """Labels of methods with a stated number of trials."""


@dataclass(frozen=True)
class Cut:
    """The parts that are cut from a suite; none by default."""

    trials: int | None = None
    """Maximum number of trials of a search."""
    splits: int | None = None
    """Maximum number of splits."""
    left_out: tuple[str, ...] = ()
    """Labels of methods, the slowest first."""

    @property
    def is_possible(self) -> bool:
        """True unless a number is one that no cut has."""
        return self.trials in (None, *TRIALS) and self.splits in (None, SPLITS)

    def of(self, suite: Suite, fixed: Fixed = Fixed()) -> Suite:
        """Return the rest of a suite."""
        methods = {
            label: method if label in fixed.trials else _with_trials(method, self.trials)
            for label, method in suite.methods.items()
            if label not in self.left_out
        }
        return replace(suite, methods=methods, folds=min(suite.folds, self.splits or suite.folds))

    def in_words(self, suite: Suite) -> str:
        """Return what is left of a suite, such as "8 of 16 trials and 3 of 5 splits"."""
        parts = []
        if self.trials:
            parts.append(f"{self.trials} of {_most_trials(suite)} trials")
        if self.splits:
            parts.append(f"{self.splits} of {_folds(suite)} splits")
        if self.left_out:
            parts.append(f"no {listed(self.left_out, 'or')}")
        return listed(parts) if parts else ""


def cut_to(suite: Suite, limit: float, seconds: Seconds, fixed: Fixed = Fixed()) -> Cut:
    """Return the first cut after which a suite takes at most `limit` seconds, else the last one."""
    cut = Cut()
    for cut in _cuts(suite, seconds, fixed):
        if seconds(cut.of(suite, fixed)) <= limit:
            break
    return cut


def _cuts(suite: Suite, seconds: Seconds, fixed: Fixed) -> Iterator[Cut]:
    """Yield cuts, each with the ones before: fewer trials, fewer splits, then fewer methods."""
    yield (cut := Cut())
    for trials in TRIALS:
        if Cut(trials).of(suite, fixed) != cut.of(suite, fixed):
            yield (cut := Cut(trials))
    if _folds(suite) > SPLITS and not fixed.splits:
        yield (cut := replace(cut, splits=SPLITS))
    while not fixed.methods and len((rest := cut.of(suite, fixed)).methods) > FEWEST_METHODS:
        slowest = max(rest.methods, key=lambda label: seconds(only(rest, [label])))
        yield (cut := replace(cut, left_out=(*cut.left_out, slowest)))


def only(suite: Suite, labels: Sequence[str]) -> Suite:
    """Return a suite with some of its methods."""
    left_out = tuple(label for label in suite.methods if label not in labels)
    return Cut(left_out=left_out).of(suite)


def _with_trials(method: Method, most: int | None) -> Method:
    """Return a method with at most this number of trials, if it has any settings to try."""
    if most is None or not isinstance(method, Tuned) or not space_of(method.method).fields:
        return method
    return replace(method, trials=min(method.trials, most))


def _most_trials(suite: Suite) -> int:
    return max((m.trials for m in suite.methods.values() if isinstance(m, Tuned)), default=0)


def _folds(suite: Suite) -> int:
    return max(min(suite.folds, case.source.folds) for case in suite.cases)
