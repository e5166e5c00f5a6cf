"""The work of searches, beside sums by hand and the work that fits count themselves."""

import numpy as np
import pytest

from bnnbench.commands.planning.search_work import work_of
from bnnbench.commands.planning.shipped_costs import shipped_costs
from bnnbench.datasets.base import Gaussian
from bnnbench.methods.adamw import AdamW
from bnnbench.methods.base import Method
from bnnbench.methods.ensemble import Ensemble
from bnnbench.methods.fitting import work
from bnnbench.methods.gp.exact import GaussianProcess
from bnnbench.methods.marginal import Marginal
from bnnbench.methods.mc_dropout import McDropout
from bnnbench.methods.tuning.method import Tuned
from tests.methods.problems import regression, stream

LEARNED = Gaussian(None)


def visits(method: Method, rows: int, together: int = 1) -> list[float]:
    """Return the row visits of all fits and of all calls."""
    return work_of(method, LEARNED, rows, together)[:2].tolist()


def test_trials_in_one_call_visit_their_rows_together():
    halved = Tuned(AdamW(), trials=4, blocks=2, lengths=(10, 20), halving=True)
    # 80 of 100 rows are held in: 4 trials of 2 blocks for 10 epochs, 2 for 20; one refit of 20.
    assert visits(halved, 100) == [80 * (4 * 2 * 10 + 2 * 2 * 20) + 100 * 20, 80 * 30 + 2000]
    assert visits(halved, 100, 3) == [3 * visits(halved, 100)[0], visits(halved, 100)[1]]


@pytest.mark.parametrize("method", [McDropout(), Ensemble(3, McDropout())])
def test_trials_of_separate_calls_share_them_among_blocks_and_splits(method):
    tuned = Tuned(method, trials=4, blocks=2, lengths=(10,))
    of_fits, of_calls = visits(tuned, 100, 3)
    assert of_fits == 3 * (80 * 4 * 2 * 10 + 100 * 10)
    assert of_calls == 80 * 4 * 10 + 100 * 10


def test_without_anything_to_search_there_is_one_fit_for_each_split():
    assert visits(Tuned(GaussianProcess(), trials=8), 100, 2) == [2 * 100**2, 2 * 100**2]
    assert visits(GaussianProcess(), 100) == [100**2, 100**2]
    limited = GaussianProcess(rows_for_kernel=50)
    assert visits(limited, 100) == visits(limited, 1000) == [50**2, 50**2]
    assert visits(Tuned(Marginal()), 100)[0] > 0


@pytest.mark.parametrize("halving", [False, True])
def test_gradient_rows_of_a_search_are_the_row_visits_of_its_fits(halving):
    problem = regression(rows=30)
    tuned = Tuned(AdamW(batch_size=8), trials=2, blocks=2, lengths=(2,), halving=halving)
    with work.counting() as tally:
        tuned.fit(problem, stream(0))
    refits = 2 if not halving else 1  # without halving, all trials are fitted again, for curves
    expected = visits(tuned, 30)[0] + (refits - 1) * 30 * 2
    assert tally.counts["gradient_rows"] == expected


FIXED_EPOCHS = (("uci", "large"), ("uci", "paper"), ("uci", "paper_002"), ("truth", "full"))
"""Profiles without searches, on sets of very different sizes."""


def test_stored_runs_took_time_in_proportion_to_their_row_visits():
    runs = {}
    for (suite, profile, _, label), cost in shipped_costs().items():
        if (suite, profile) in FIXED_EPOCHS and cost.epochs:
            visits = cost.rows * cost.epochs
            runs.setdefault((suite, profile, label), []).append((visits, cost.seconds))
    logs = [np.log(np.array(pairs)).T for pairs in runs.values() if len(pairs) > 3]
    powers = [np.polyfit(visits, seconds, 1)[0] for visits, seconds in logs]
    assert len(powers) > 20
    assert np.median(powers) == pytest.approx(1.0, abs=0.1)
