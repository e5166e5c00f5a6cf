"""Headlines by the best mean, computed by pandas from the same runs; and their grades."""

import numpy as np
import pytest

from bnnbench.reports.read.frames import scores_of
from bnnbench.reports.style.families import family_of
from docs.generate.before_after import before_after_table
from docs.generate.finished_runs import records

pytestmark = pytest.mark.long


def rows():
    heading, _, *rows = before_after_table({})
    return [dict(zip(heading, row, strict=True)) for row in rows]


@pytest.mark.parametrize(
    ("question", "folders", "metric", "sign"),
    [
        (
            "regression: tables of 100 to 3,000 rows",
            ("tables", "tables_more"),
            "log_likelihood",
            1,
        ),
        ("classification: more tables under 1,000 rows", ("uci_classification_more",), "nll", -1),
    ],
)
def test_the_earlier_headline_is_the_best_mean_over_data_sets(question, folders, metric, sign):
    (row,) = (row for row in rows() if row["question"] == question)
    runs = [record for folder in folders for record in records(folder)]
    constant = {r.method for r in runs if family_of(r.run.get("method")) == "constant"}
    scores = scores_of(runs)
    scores = scores[scores.metric == metric]
    each = scores.pivot_table(index="dataset", columns="method", values="value")
    means = (sign * each.dropna(axis=1).mean()).drop(columns=constant, errors="ignore")
    assert row["by the best mean"] == f"Use {means.idxmax()} first"


def test_every_question_has_a_grade_and_a_rule_and_settled_ones_name_what_to_use():
    found = rows()
    assert len(found) > 20
    for row in found:
        said, grade = row["by its grade"], row["grade"]
        if row["rule"].endswith("by their regret"):
            assert said.startswith("Run these three: ")
        elif grade == "leads":
            assert "first: it leads" in said
        elif grade == "best":
            assert said.startswith("Use ")
            assert "it is best" in said or "as good as any" in said
        else:
            assert any(words in said.lower() for words in ("not shown", "decided", "none is best"))
    assert np.unique([row["question"] + row["settings"] for row in found]).size == len(found)
