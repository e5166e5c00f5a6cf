"""The rule by which a collected table counts; nothing in it looks at a network.

It was written before any Bayesian method was run on the tables. A table counts if all hold:

(a) at least 100 different inputs, and at least half of all rows different;
(b) no value holds more than 20 % of real targets: a density would be rewarded for a point mass;
(c) labels are made by no logical rule, and are no draws from densities in closed form;
(d) no column, nor sum nor difference of two, is a monotone function of the target;
(e) the rows are those of no other table of the project;
(f) no simple model reaches an accuracy of .99 or an R2 of .999;
(g) the better of linear model and boosting gains over the constant: in the mean of ten splits, by
    more than two standard errors, and in at least eight of them;
(h) each class has at least 15 rows.
"""

from collections.abc import Iterator

from bnnbench.datasets.health.checks import Health
from bnnbench.datasets.official.collected.entries import Entry

LEAST_INPUTS, LEAST_SHARE = 100, 0.5
LARGEST_VALUE = 0.2
PART = 0.9999
"""Minimum squared correlation of a part of the target."""
EASY_ACCURACY, EASY_R2 = 0.99, 0.999
STANDARD_ERRORS, LEAST_WINS = 2.0, 8
SMALLEST_CLASS = 15


def failures(entry: Entry, health: Health) -> tuple[str, ...]:
    """Return the conditions that a table does not meet, in words; empty if it counts."""
    return (*_about_rows(entry, health), *_about_models(entry, health))


def _about_rows(entry: Entry, health: Health) -> Iterator[str]:
    if health.distinct < LEAST_INPUTS or health.distinct < LEAST_SHARE * entry.rows:
        yield f"{health.distinct} different inputs in {entry.rows:,} rows"
    if not entry.classes and health.share_of_one_value > LARGEST_VALUE:
        yield f"{100 * health.share_of_one_value:.0f} % of the targets are one value"
    if entry.made_by:
        yield f"labels are {entry.made_by}"
    if health.part_square >= PART:
        yield f"{health.part} gives the target"
    if entry.same_as:
        yield f"has the rows of {entry.same_as}"
    if entry.classes and health.smallest_class < SMALLEST_CLASS:
        yield f"a class has {health.smallest_class} rows"


def _about_models(entry: Entry, health: Health) -> Iterator[str]:
    if health.hits >= (EASY_ACCURACY if entry.classes else EASY_R2):
        score = "accuracy" if entry.classes else "R2"
        yield f"too easy: {score} {health.hits:.4f} of {health.easiest}"
    if health.gain <= STANDARD_ERRORS * health.gain_error or health.wins < LEAST_WINS:
        yield (
            f"nothing is learned: {health.better} gains {health.gain:.3g} ± {health.gain_error:.2g}"
            f" over the constant, in {health.wins} of ten splits"
        )
