"""The columns of the overview: what readers ask, and which question of the board answers it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bnnbench.reports.pages.site.questions import (
    ACTIVE,
    CLASSES,
    NEW_HEAD,
    OUTSIDE,
    REGRESSION,
    SHIFT,
)
from bnnbench.reports.pages.site.tasks import Task

Source = tuple[str, str, str, str]
"""Kind of question, suite and profile of its first runs, and what the data are."""


@dataclass(frozen=True)
class Ask:
    """A column; the first of its sources with runs answers it."""

    name: str
    group: str
    head: str
    title: str
    sources: tuple[Source, ...]
    first: bool = False
    """True for the answers that are shown without asking for more."""


ASKS = (
    Ask("num", "Tables", "numeric target", "Table regression", (
        (REGRESSION, "tables", "regression", "100 to 3,000 rows"),
        (REGRESSION, "uci", "league", "under 1,500 rows"),
        (REGRESSION, "uci", "tuned_quick", "under 1,000 rows"),
        (REGRESSION, "uci", "quick", "under 1,000 rows"),
    ), True),
    Ask("big", "Tables", "10k rows", "Table regression", (
        (REGRESSION, "uci", "league_large", "7,000 to 11,000 rows"),
        (REGRESSION, "uci", "large", "3,000 to 57,000 rows"),
    )),
    Ask("cls", "Tables", "classes", "Table classification", (
        (CLASSES, "tables", "classification", "230 to 850 rows"),
        (CLASSES, "uci_classification", "tuned_quick", "under 1,000 rows"),
        (CLASSES, "uci_classification", "quick", "under 1,000 rows"),
    ), True),
    Ask("dig", "Images", "digits", "Digits", (
        (CLASSES, "mnist", "tuned_quick", "640 to 10,240"),
    ), True),
    Ask("few", "Images", "few digits", "Few digits", (
        (CLASSES, "mnist", "disjoint", "320 to 2,560"),
    )),
    Ask("pho", "Images", "photos", "Photographs", (
        (CLASSES, "cifar10", "disjoint", "3,000, five training sets"),
        (CLASSES, "cifar10", "tuned_quick", "3,000"),
        (CLASSES, "mnist", "quick", "3,000, and digits"),
    ), True),
    Ask("net", "Images", "new head", "A trained network, new head", (
        (NEW_HEAD, "features", "tuned_quick", "2,000 photographs"),
    ), True),
    Ask("rot", "Shift", "rotated digits", "Rotated digits", (
        (SHIFT, "rotated_mnist", "paper", "60,000"),
        (SHIFT, "mnist", "disjoint", "320 to 2,560"),
    )),
    Ask("cor", "Shift", "corrupt photos", "Corrupted photographs", (
        (SHIFT, "cifar10_shift", "quick", "3,000"),
    )),
    Ask("ood", "Out of distribution", "among digits", "Out-of-distribution, digits", (
        (OUTSIDE, "mnist", "tuned_quick", "640 to 10,240"),
        (OUTSIDE, "mnist", "disjoint", "320 to 2,560"),
    )),
    Ask("oop", "Out of distribution", "among photos", "Out-of-distribution, photographs", (
        (OUTSIDE, "cifar10", "disjoint", "3,000, five training sets"),
        (OUTSIDE, "cifar10", "tuned_quick", "3,000"),
        (OUTSIDE, "mnist", "quick", "3,000, and digits"),
    )),
    Ask("oon", "Out of distribution", "new head", "Out-of-distribution, trained network", (
        (OUTSIDE, "features", "tuned_quick", "2,000 photographs"),
    )),
    Ask("act", "Other", "active learning", "Active learning", (
        (ACTIVE, "active_learning", "quick", "20 rows, 9 more"),
    )),
)  # fmt: skip
"""In page order."""


@dataclass(frozen=True)
class Asked:
    """A column with the question that answers it; None without runs."""

    ask: Ask
    task: Task | None
    scope: str

    @property
    def title(self) -> str:
        """The question in a few words."""
        return f"{self.ask.title}, {self.scope}"

    @property
    def declared(self) -> bool:
        """True if settings were declared, not searched alike for all methods."""
        return self.task is not None and self.task.question.settings == "as declared"

    @property
    def head(self) -> str:
        """The heading of the column."""
        return self.ask.head + "†" * self.declared


def asked_of(tasks: Sequence[Task]) -> list[Asked]:
    """Return all columns; of several questions with the same runs, the one with more data sets."""
    return [_asked(ask, tasks) for ask in ASKS]


def _asked(ask: Ask, tasks: Sequence[Task]) -> Asked:
    first = next(((task, source[3]) for source in ask.sources for task in _of(source, tasks)), None)
    return Asked(ask, *first) if first else Asked(ask, None, ask.sources[0][3])


def _of(source: Source, tasks: Sequence[Task]) -> Iterator[Task]:
    kind, *place, _ = source
    of = [
        task
        for task in tasks
        if task.question.kind == kind
        and [task.question.places[0].suite, task.question.places[0].profile] == place
    ]
    yield from sorted(of, key=lambda task: -len(task.columns))
