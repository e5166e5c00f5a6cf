"""The list of choices at the bounds of search spaces."""

from bnnbench.reports.judge.summaries.tuning import Tuning, choices
from bnnbench.reports.sections.edges import edges
from tests.reports.judge.summaries.test_tuning import a_run

LOW = [[-5.0, -1.0, -5.0]] + [[-9.0] * 3] * 9  # trial 0 of 10: place 0
INSIDE = [[-9.0] * 3] * 5 + [[-5.0, -1.0, -5.0]] + [[-9.0] * 3] * 4


LONGEST = [[-9.0] * 3] * 5 + [[-5.0, -4.0, -1.0]] + [[-9.0] * 3] * 4


def tuning(*folds):
    """Return the searches of folds with these held-out scores, each with two seeds."""
    runs = [
        a_run(fold, seed, held_out, {}, 0 if held_out is LOW else 5)
        for fold, held_out in enumerate(folds)
        for seed in (0, 1)
    ]
    return Tuning("A", tuple(choices(runs)), {})


def test_choices_are_counted_over_data_sets_once_a_fold():
    listing = edges({"A": [tuning(LOW, INSIDE), tuning(LOW, LOW, INSIDE)]}, "all data sets")
    assert listing is not None
    assert listing.rows == (("A", "rate", "5", "60%", "0%"),)


def test_a_length_is_at_a_bound_if_it_is_the_longest():
    listing = edges({"A": [tuning(LONGEST, LONGEST)]}, "all data sets")
    assert listing is not None
    assert listing.rows == (("A", "length", "2", "0%", "100%"),)


def test_few_choices_at_a_bound_are_not_listed():
    assert edges({"A": [tuning(INSIDE, INSIDE, INSIDE, INSIDE, LOW)]}, "all data sets") is None
