"""Fits longer than the chosen one start where the search of docs/bundle ended."""

import pandas as pd
import pytest

from bnnbench.reports.judge.summaries.tuning import Choice, choices
from docs.generate.finished_runs import BUNDLE, suites
from docs.generate.searched import MARGIN, edges_table, longer_table, places_table

pytestmark = pytest.mark.long


PROFILE = {"suite": "uci", "profile": "tuned_quick"}


def chosen(profile: str) -> dict[tuple[str, str, int], Choice]:
    return {
        (choice.record.dataset, choice.record.method, choice.record.fold): choice
        for benchmark in suites()["uci"]
        if benchmark.profile == profile
        for runs in benchmark.runs.values()
        for choice in choices(runs)
    }


def gaps(profile: str, file: str) -> list[float]:
    """Return the distance of each score of a chosen length from the score of its search."""
    searches = chosen(profile)
    table = pd.read_csv(BUNDLE / "uci_tuning" / file)
    differences = []
    for row in table.itertuples():
        choice = searches[str(row.dataset), str(row.method), int(row.fold)]
        assert choice.length == row.length
        differences.append(abs(row.chosen - max(choice.search.scores[choice.trial])))
    return differences


def test_every_chosen_score_is_close_to_that_of_its_search():
    apart = gaps("tuned_quick", "longer.csv")
    assert len(apart) > 100
    # Settings are stored with nine digits, and energy was searched on another machine: rounding
    # grows over thousands of steps. Half the margin of the table.
    assert max(apart) < MARGIN / 2


def test_of_longer_searches_nearly_every_chosen_score_is_close():
    apart = gaps("league", "longer_league.csv")
    assert len(apart) > 300
    # Over up to 8,000 steps the rounding of nine digits grows further; the page counts such cells.
    far = sum(gap > MARGIN / 2 for gap in apart)
    assert round(len(apart) / far) == 14
    assert max(apart) < 1 / 8


def test_edges_count_what_the_searches_chose():
    (row,) = (r for r in edges_table(PROFILE | {"datasets": "concrete"}) if r[0] == "AdamW")
    of_folds = [
        c
        for (name, method, _), c in chosen("tuned_quick").items()
        if (name, method) == ("concrete", "AdamW")
    ]
    longest = sum(choice.length == max(choice.search.lengths) for choice in of_folds)
    assert row[1] == f"0 and {longest} of {len(of_folds)}"


def test_places_agree_with_sorted_means():
    options = {"suite": "uci", "before": "quick", "after": "tuned_quick", "datasets": "energy"}
    _, _, *rows = places_table(options | {"metric": "log_likelihood"})
    before, after = zip(*(map(int, cell.split(" → ")) for _, cell in rows), strict=True)
    assert list(after) == sorted(before) == list(range(1, len(rows) + 1))
    assert rows[0][0] == "Ensemble"


def test_a_gain_beyond_the_margin_is_marked():
    options = PROFILE | {"file": "uci_tuning/longer.csv"}
    gains = {method: cells for method, *cells in longer_table(options)}
    marked = {method for method, cells in gains.items() if any(c.endswith("+") for c in cells)}
    table = pd.read_csv(BUNDLE / "uci_tuning" / "longer.csv")
    means = (table.longer - table.chosen).groupby([table.dataset, table.method]).mean()
    assert marked
    assert all(means.xs(method, level="method").max() > 0.02 for method in marked)
