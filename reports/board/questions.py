"""The questions that the board answers, and the runs that answer them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Settings = Literal["as declared", "searched"]
"""As declared: a profile's settings, not searched alike for all. Searched: every method's settings
were chosen by the same budget on held-out training rows."""


@dataclass(frozen=True)
class Criterion:
    """A score by which methods are ranked."""

    name: str
    """The word in the question: "likelihood"."""
    metrics: tuple[str, ...]
    """The metric of each task; the first that was scored is used."""
    unit: str
    """The unit of a margin, after a number."""
    scale: float = 1.0
    ratio: bool = False
    """True where targets differ in unit, so that logarithms of ratios are compared."""


LIKELIHOOD = Criterion("likelihood", ("log_likelihood", "nll"), "nats an example")
ERROR = Criterion("error", ("rmse",), "% of the RMSE", 100.0, ratio=True)
ACCURACY = Criterion("accuracy", ("accuracy",), "points", 100.0)
QUANTILES = Criterion("calibration", ("calibration_mae",), "points", 100.0)
CONFIDENCE = Criterion("calibration", ("ece",), "points", 100.0)
OF_RARE_CLASSES = (
    LIKELIHOOD,
    Criterion("accuracy", ("balanced_accuracy",), "points", 100.0),
    Criterion("calibration", ("ece_classwise",), "points", 100.0),
)
DETECTION = Criterion("detection", ("auroc_ood",), "points", 100.0)

OF_NUMBERS = (LIKELIHOOD, ERROR, QUANTILES)
OF_CLASSES = (LIKELIHOOD, ACCURACY, CONFIDENCE)


@dataclass(frozen=True)
class Place:
    """The runs of a profile, and the conditions of each of its data sets that are columns."""

    suite: str
    profile: str
    conditions: Mapping[str, str]
    """Title of a column, after the data set's, → pattern of its conditions, which are averaged.
    "last" is the condition after the last acquisition."""
    datasets: tuple[str, ...] = ()
    """Names of data sets; all if empty."""


@dataclass(frozen=True)
class Question:
    """What is asked, and where the answer comes from."""

    kind: str
    """The first blank: "regression"."""
    data: str
    """The second blank: "under 1,000 rows"."""
    settings: Settings
    criteria: tuple[Criterion, ...]
    places: tuple[Place, ...]


CLEAN = {"": "clean"}
OUTSIDE = {"against clothes": "ood_fashion_mnist"}
OUTSIDE_PHOTOGRAPHS = {"against SVHN": "ood_svhn_.*", "against CIFAR-100": "ood_cifar100"}
TURNED = {f"{angle}°": f"rotated_{angle}" for angle in (30, 60, 90, 180)}
SEVERITIES = {f"severity {k}": f"corrupted_.*_{k}" for k in range(1, 6)}

QUESTIONS = (
    Question(
        *("regression", "under 1,000 rows", "searched", OF_NUMBERS),
        (Place("uci", "tuned_quick", CLEAN),),
    ),
    Question(
        *("regression", "under 1,000 rows", "as declared", OF_NUMBERS),
        (Place("uci", "quick", CLEAN),),
    ),
    Question(
        *("regression", "3,000 to 57,000 rows", "as declared", OF_NUMBERS),
        (Place("uci", "large", CLEAN),),
    ),
    Question(
        *("classification", "tables under 1,000 rows", "searched", OF_RARE_CLASSES),
        (Place("uci_classification", "tuned_quick", CLEAN),),
    ),
    Question(
        *("classification", "tables under 1,000 rows", "as declared", OF_RARE_CLASSES),
        (Place("uci_classification", "quick", CLEAN),),
    ),
    Question(
        *("classification", "640 to 1,280 digits", "searched", OF_CLASSES),
        (Place("mnist", "disjoint", CLEAN),),
    ),
    Question(
        *("classification", "3,000 photographs", "searched", OF_CLASSES),
        (Place("cifar10", "tuned_quick", CLEAN),),
    ),
    Question(
        *("classification", "640 to 10,240 digits, 3,000 photographs", "as declared", OF_CLASSES),
        (Place("mnist", "quick", CLEAN), Place("cifar10", "quick", CLEAN)),
    ),
    Question(
        *("classification under shift", "60,000 digits, turned", "as declared", OF_CLASSES),
        (Place("rotated_mnist", "paper", TURNED),),
    ),
    Question(
        *("classification under shift", "640 to 1,280 digits, turned", "searched", OF_CLASSES),
        (Place("mnist", "disjoint", {"30°": "rotated_30", "60°": "rotated_60"}),),
    ),
    Question(
        *("classification under shift", "3,000 photographs, corrupted", "as declared", OF_CLASSES),
        (Place("cifar10_shift", "quick", SEVERITIES),),
    ),
    Question(
        *("telling strange inputs apart", "640 to 1,280 digits", "searched", (DETECTION,)),
        (Place("mnist", "disjoint", OUTSIDE),),
    ),
    Question(
        *("telling strange inputs apart", "3,000 photographs", "searched", (DETECTION,)),
        (Place("cifar10", "tuned_quick", OUTSIDE_PHOTOGRAPHS),),
    ),
    Question(
        "telling strange inputs apart",
        "640 to 10,240 digits, 3,000 photographs",
        "as declared",
        (DETECTION,),
        (Place("mnist", "quick", OUTSIDE), Place("cifar10", "quick", OUTSIDE_PHOTOGRAPHS)),
    ),
    Question(
        *("active learning", "20 rows, 9 more acquired", "as declared", (LIKELIHOOD, ERROR)),
        (Place("active_learning", "quick", {"": "last"}),),
    ),
)
"""In the order of the page. Of several settings for the same data, the page begins with the one of
more data sets; in a tie, with searched ones."""
