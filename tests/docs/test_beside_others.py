"""Tables next to the literature, by pandas on the same runs and the published CSV."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from bnnbench.reports.papers.literature import FOLDER
from bnnbench.reports.read.frames import scores_of
from docs.generate.finished_runs import records
from docs.generate.papers import literature_table

pytestmark = pytest.mark.long


def test_a_difference_is_paired_by_fold_and_knows_the_shared_rows():
    options = {"profile": "tuned_quick", "metric": "rmse", "methods": "MC dropout,AdamW"}
    rows = {(r[0], r[1]): r[2:] for r in literature_table(options)}
    ours = scores_of(records("uci_tuned_energy")).query("condition == 'clean' and metric == 'rmse'")
    ours = ours[ours.method == "MC dropout"].groupby("fold").value.mean()
    theirs = pd.read_csv(FOLDER / "uci_mc_dropout.csv")
    theirs = theirs.query("dataset == 'energy' and metric == 'rmse'").set_index("fold").value
    gaps = (ours - theirs).dropna()
    spread = np.sqrt(
        (1 / len(gaps) + 1 / 9) * gaps.var(ddof=1)
    )  # a tenth of the rows are test rows
    half_width = stats.t.ppf(0.975, len(gaps) - 1) * spread
    mean, half = (float(p.replace("−", "-")) for p in rows["energy", "MC dropout"][2].split(" ± "))
    assert mean == pytest.approx(gaps.mean(), abs=6e-4)
    assert half == pytest.approx(half_width, rel=0.02)
    assert rows["energy", "MC dropout"][3:] == (str(len(gaps)), "worse")
