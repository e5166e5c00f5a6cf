"""The section on searches: protocol, choices, curves, and spaces that are too narrow."""

import pytest

from bnnbench.commands.report import main
from tests.reports.judge.summaries.test_tuning import a_run
from tests.reports.synthetic import keep

INSIDE = [[-9.0, -8.0]] * 5 + [[-2.0, -5.0]] + [[-9.0, -8.0]] * 4
TESTS = {trial: float(trial) for trial in range(10)}


@pytest.fixture
def page(tmp_path):
    """The report of three folds whose choices have the shortest length, which is an edge."""
    runs = [a_run(fold, 0, INSIDE, TESTS, 5, seconds=fold + 1.0) for fold in range(3)]
    folder = tmp_path / runs[0].suite
    keep(folder, runs)
    assert main([str(folder)]) == 0
    return (folder / "report.html").read_text()


def test_it_states_the_protocol_and_what_was_chosen(page):
    assert "chosen on rows held out from that fold" in page
    assert "own noise counts" in page
    assert "rate 0.5 (0.5 to 0.5); length 25 (25 to 25)" in page
    assert "40 s" in page  # 20 fits of 1, 2 and 3 seconds


def test_a_space_that_may_be_too_narrow_is_named(page):
    assert "More than 50% of the choices lie on an edge" in page


def test_it_draws_the_expected_best_against_trials_and_seconds(page):
    assert "Best of n trials" in page
    assert "against trials on" in page
    assert "against seconds of search in a fold on" in page


def test_it_draws_how_much_each_setting_matters(page):
    assert "Sensitivity" in page
    described = "held-out scores over each setting: on line, rate from -6 at 0 to -6 at 0.9"
    # the best of all trials except the chosen one is -8; the chosen one has -2
    assert described in page
