"""The board's questions, and the runs that answer them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from bnnbench.datasets.conditions.traits import Traits

REGRESSION, CLASSES, SHIFT = "regression", "classification", "classification under shift"
OUTSIDE, NEW_HEAD = "out-of-distribution detection", "a trained network with a new head"
ACTIVE = "active learning"
"""Kinds of questions."""

Settings = Literal["as declared", "searched"]
"""As declared: a profile's settings, not searched alike for all. Searched: every method's settings
were chosen with the same budget on held-out training rows."""


@dataclass(frozen=True)
class Criterion:
    """A score by which methods are ranked."""

    name: str
    """The word in the question: "likelihood"."""
    metrics: tuple[str, ...]
    """The metric for each task; the first that was scored is used."""
    unit: str
    """The unit of a margin, after a number."""
    scale: float = 1.0
    ratio: bool = False
    """True if targets differ in unit, so that logarithms of ratios are compared."""
    floor: float | None = None
    """Least distance from a constant prediction to the best method on a data set, in `unit`, when
    data sets are random; None for a score by which a constant may be best."""


LIKELIHOOD = Criterion("likelihood", ("log_likelihood", "nll"), "nats an example", floor=0.05)
ERROR = Criterion("error", ("rmse",), "% of the RMSE", 100.0, ratio=True, floor=5.0)
"""Of a Gaussian with fitted noise, 5 % of the RMSE are 0.05 nats."""
BESIDE = (
    Criterion("CRPS", ("crps",), "% of the CRPS", 100.0, ratio=True, floor=5.0),
    *(
        Criterion(
            f"interval score of {level} %",
            (f"interval_score_{level}",),
            *("% of the score", 100.0, True, 5.0),
        )
        for level in (90, 95)
    ),
)
"""Scores of regressions that only say whether the first method by likelihood stays first."""
ACCURACY = Criterion("accuracy", ("accuracy",), "points", 100.0, floor=1.0)
QUANTILES = Criterion("calibration", ("calibration_mae",), "points", 100.0)
CONFIDENCE = Criterion("calibration", ("ece",), "points", 100.0)
OF_RARE_CLASSES = (
    LIKELIHOOD,
    Criterion("accuracy", ("balanced_accuracy",), "points", 100.0, floor=1.0),
    Criterion("calibration", ("ece_classwise",), "points", 100.0),
)
DETECTION = Criterion("detection", ("auroc_ood",), "points", 100.0)

OF_NUMBERS = (LIKELIHOOD, ERROR, QUANTILES)
OF_CLASSES = (LIKELIHOOD, ACCURACY, CONFIDENCE)


Titles = Callable[[Traits], str | None]
"""Function from the traits of a test condition to the title of its column, after the data set's;
None for a condition without a column. Conditions with the same title are averaged."""


def clean(traits: Traits) -> str | None:
    """Unchanged test data; with active learning, after the last acquisition."""
    return "" if traits.clean else None


def outside(traits: Traits) -> str | None:
    """Test data mixed with other data, which are to be detected."""
    return f"against {traits.outside}" if traits.outside else None


def rotated(traits: Traits) -> str | None:
    """Digits rotated by some angles."""
    family = traits.family
    if family is None or family.title != "Rotation" or traits.size not in ANGLES:
        return None
    return f"{traits.size:g}°"


def corrupted(traits: Traits) -> str | None:
    """Photographs under all corruptions of one severity."""
    family = traits.family
    if family is None or family.size_name != "severity" or traits.parts:
        return None
    return f"severity {traits.size:g}"


ANGLES = (30, 60, 90, 180)

UNFINISHED = ("mnist-10240-disjoint",)
"""Data sets on which few methods were run: a ranking with them would cover only these methods."""


@dataclass(frozen=True)
class Place:
    """The runs of a profile, and the test conditions that are columns."""

    suite: str
    profile: str
    titles: Titles
    by_split: bool = False
    """True if the score of a split is the mean over its seeds, and a page lists only the first of
    its runs. Decisions are unaffected, because splits are counted; the page is smaller."""
    but: tuple[str, ...] = ()
    """Data sets of the profile without a column."""


@dataclass(frozen=True)
class Question:
    """A question of the board, and the runs that answer it."""

    kind: str
    """The first blank: "regression"."""
    data: str
    """The second blank: "under 1,000 rows"."""
    settings: Settings
    criteria: tuple[Criterion, ...]
    places: tuple[Place, ...]


QUESTIONS = (
    Question(
        *(REGRESSION, "tables of 100 to 3,000 rows", "searched", OF_NUMBERS),
        (Place("tables", REGRESSION, clean),),
    ),
    Question(
        *(REGRESSION, "under 1,500 rows, 20 splits", "searched", OF_NUMBERS),
        (Place("uci", "league", clean, by_split=True),),
    ),
    Question(
        *(REGRESSION, "under 1,000 rows, 5 splits", "searched", OF_NUMBERS),
        (Place("uci", "tuned_quick", clean),),
    ),
    Question(
        *(REGRESSION, "7,000 to 11,000 rows, 5 splits", "searched", OF_NUMBERS),
        (Place("uci", "league_large", clean),),
    ),
    Question(
        *(REGRESSION, "under 1,000 rows, 5 splits", "as declared", OF_NUMBERS),
        (Place("uci", "quick", clean),),
    ),
    Question(
        *(REGRESSION, "3,000 to 57,000 rows", "as declared", OF_NUMBERS),
        (Place("uci", "large", clean),),
    ),
    Question(
        *(CLASSES, "tables of 230 to 850 rows", "searched", OF_RARE_CLASSES),
        (Place("tables", CLASSES, clean),),
    ),
    Question(
        *(CLASSES, "more tables under 1,000 rows", "searched", OF_RARE_CLASSES),
        tuple(Place("uci_classification", name, clean) for name in ("tuned_quick", "tuned_more")),
    ),
    Question(
        *(CLASSES, "tables under 1,000 rows", "searched", OF_RARE_CLASSES),
        (Place("uci_classification", "tuned_quick", clean),),
    ),
    Question(
        *(CLASSES, "tables under 1,000 rows", "as declared", OF_RARE_CLASSES),
        (Place("uci_classification", "quick", clean),),
    ),
    Question(
        *(CLASSES, "320 to 2,560 digits", "searched", OF_CLASSES),
        (Place("mnist", "disjoint", clean, but=UNFINISHED),),
    ),
    Question(
        *(CLASSES, "640 to 10,240 digits", "searched", OF_CLASSES),
        (Place("mnist", "tuned_quick", clean),),
    ),
    Question(
        *(NEW_HEAD, "2,000 photographs", "searched", OF_CLASSES),
        (Place("features", "tuned_quick", clean),),
    ),
    Question(
        *(CLASSES, "3,000 photographs, five training sets", "searched", OF_CLASSES),
        (Place("cifar10", "disjoint", clean),),
    ),
    Question(
        *(CLASSES, "3,000 photographs", "searched", OF_CLASSES),
        (Place("cifar10", "tuned_quick", clean),),
    ),
    Question(
        *(CLASSES, "640 to 10,240 digits, 3,000 photographs", "as declared", OF_CLASSES),
        (Place("mnist", "quick", clean), Place("cifar10", "quick", clean)),
    ),
    Question(
        *(SHIFT, "60,000 digits, rotated", "as declared", OF_CLASSES),
        (Place("rotated_mnist", "paper", rotated),),
    ),
    Question(
        *(SHIFT, "320 to 2,560 digits, rotated", "searched", OF_CLASSES),
        (Place("mnist", "disjoint", rotated, but=UNFINISHED),),
    ),
    Question(
        *(SHIFT, "3,000 photographs, corrupted", "as declared", OF_CLASSES),
        (Place("cifar10_shift", "quick", corrupted),),
    ),
    Question(
        *(OUTSIDE, "320 to 2,560 digits", "searched", (DETECTION,)),
        (Place("mnist", "disjoint", outside, but=UNFINISHED),),
    ),
    Question(
        *(OUTSIDE, "640 to 10,240 digits", "searched", (DETECTION,)),
        (Place("mnist", "tuned_quick", outside),),
    ),
    Question(
        OUTSIDE,
        "a new head for 2,000 photographs",
        "searched",
        (DETECTION,),
        (Place("features", "tuned_quick", outside),),
    ),
    Question(
        OUTSIDE,
        "3,000 photographs, five training sets",
        "searched",
        (DETECTION,),
        (Place("cifar10", "disjoint", outside),),
    ),
    Question(
        *(OUTSIDE, "3,000 photographs", "searched", (DETECTION,)),
        (Place("cifar10", "tuned_quick", outside),),
    ),
    Question(
        OUTSIDE,
        "640 to 10,240 digits, 3,000 photographs",
        "as declared",
        (DETECTION,),
        (Place("mnist", "quick", outside), Place("cifar10", "quick", outside)),
    ),
    Question(
        *(ACTIVE, "20 rows, 9 more acquired", "as declared", (LIKELIHOOD, ERROR)),
        (Place("active_learning", "quick", clean),),
    ),
)
"""In page order. Of several settings for the same data, the page begins with the one that covers
more data sets; in a tie, with the searched one."""


def question_of(suite: str, profile: str) -> Question | None:
    """Return the first question that the runs of a profile answer; None if there is none."""
    place = suite, profile
    return next((q for q in QUESTIONS if place in {(p.suite, p.profile) for p in q.places}), None)
