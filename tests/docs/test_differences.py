"""Differences in documents, recomputed from the records."""

import numpy as np
import pytest
from scipy import stats

from docs.generate.finished_runs import records
from docs.generate.measured import differences_table

OWN, RIVAL = "MP informed x3 (tempered)", "Ensemble (tempered)"


def test_where_there_is_one_fold_they_are_paired_by_seed():
    places = {"bundle": "cifar10_tuned", "dataset": "cifar10", "condition": "clean"}
    _, _, row = differences_table(places | {"metrics": "nll", "of": OWN, "rivals": RIVAL})
    runs = {(r.method, r.seed): r.scores["clean"]["nll"] for r in records("cifar10_tuned")}
    seeds = sorted(seed for method, seed in runs if method == OWN)
    gaps = np.array([runs[OWN, seed] - runs[RIVAL, seed] for seed in seeds])
    half = stats.t.ppf(0.975, len(gaps) - 1) * gaps.std(ddof=1) / np.sqrt(len(gaps))
    mean, spread = (float(part.replace("−", "-")) for part in row[2].split(" ± "))
    assert (mean, spread) == pytest.approx((gaps.mean(), half), abs=6e-5)
    assert row[3] == f"{(gaps < 0).sum()} of {len(gaps)}"
