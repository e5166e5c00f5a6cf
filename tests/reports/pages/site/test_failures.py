"""The failures of the board's questions, from the same scores as its rankings."""

import pytest

from bnnbench.reports.pages.site.failures import failures_by_task
from bnnbench.reports.pages.site.questions import OF_NUMBERS, Place, Question, clean
from bnnbench.reports.pages.site.tasks import task_of
from bnnbench.reports.read.benchmarks import benchmarks
from tests.reports.synthetic import record

GAINS = {"GP": {"boston": (0.5, -0.25), "yacht": (-2.0, 0.5)}, "SGD": {"boston": (1.0, 1.0)}}


def runs():
    for dataset in ("boston", "yacht"):
        for fold in range(2):
            said = {"diagnostics": {"ignores_inputs": 1.0}}
            gains = {m: of[dataset][fold] for m, of in GAINS.items() if dataset in of}
            for method, gain in {"Training mean": 0.0, **gains}.items():
                yield record(
                    *(method, dataset, fold),
                    scores={"clean": {"log_likelihood": gain - 3, "rmse": 1.0}},
                    **{"suite": "uci", "profile": "league"},
                    **(said if method == "Training mean" else {}),
                )
    yield record("SGD", "yacht", 0, scores={}, suite="uci", profile="league", status="diverged")


@pytest.mark.parametrize("seeds", [True, False])
def test_a_row_counts_sets_splits_and_ends(seeds):
    place = Place("uci", "league", clean, by_split=seeds)
    question = Question("regression", "few rows", "searched", OF_NUMBERS, (place,))
    task = task_of(question, {"uci": benchmarks(runs())})
    assert task is not None
    (listing,) = failures_by_task([task]).values()
    assert listing.title.endswith("few rows, settings searched")
    assert listing.rows == (
        ("GP", "1 of 2: yacht", "2 of 4", "−2.00 on yacht", "0", "0"),
        ("SGD", "0 of 1", "0 of 2", "", "1", "0"),
    )
