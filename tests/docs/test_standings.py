"""Standings in documents, by pandas tables of the same runs and SciPy's interval."""

import numpy as np
import pytest
from scipy import stats

from bnnbench.reports.read.frames import scores_of
from docs.generate.finished_runs import records, suites
from docs.generate.standings import standings_table

pytestmark = pytest.mark.long


def wide(folders: str, dataset: str, metric: str):
    table = scores_of([record for folder in folders.split(",") for record in records(folder)])
    chosen = table[
        (table.dataset == dataset) & (table.condition == "clean") & (table.metric == metric)
    ]
    return chosen.pivot_table(index="fold", columns="method", values="value")


@pytest.mark.parametrize(
    ("folders", "profile", "dataset", "metric", "constant", "down"),
    [
        ("uci_tuned_energy,uci_tuned_informed,uci_tuned_left_out", "uci:tuned_quick", "energy",
         "log_likelihood", "Training mean", -1),
        ("uci_classification_tuned", "uci_classification:tuned_quick", "german", "nll",
         "Class frequency", 1),
    ],
    ids=["folds of a regression", "folds of a classification"],
)  # fmt: skip
def test_a_place_counts_means_and_the_interval_knows_the_shared_rows(
    folders, profile, dataset, metric, constant, down
):
    options = {"of": "MP", "metric": metric, "profiles": profile}
    (row,) = (r for r in standings_table(options) if r[0] == dataset)
    scores = wide(folders, dataset, metric).drop(columns=constant)
    order = (down * scores.mean()).sort_values().index
    best = next(method for method in order if method != "MP")
    assert row[1:3] == (f"{list(order).index('MP') + 1} of {len(order)}", best)
    gaps = (scores["MP"] - scores[best]).to_numpy()
    facts = (
        next(b for b in suites()[profile.split(":")[0]] if b.dataset == dataset).records[0].facts
    )
    spread = np.sqrt((1 / len(gaps) + facts["test_rows"] / facts["train_rows"]) * gaps.var(ddof=1))
    half_width = stats.t.ppf(0.975, len(gaps) - 1) * spread
    mean, half = (float(part) for part in row[3].replace("−", "-").split(" ± "))
    assert mean == pytest.approx(gaps.mean(), abs=6e-4)
    assert half == pytest.approx(half_width, rel=0.01)
