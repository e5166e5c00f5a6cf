"""One sentence for each outcome of a column, in plain words."""

import re

import numpy as np
import pytest

from bnnbench.reports.pages.captions import (
    caption,
    column_captions,
    headed,
    not_compared,
    tooltip,
)
from bnnbench.reports.read.benchmarks import benchmarks
from bnnbench.reports.sections.condition_tables import condition_table
from bnnbench.reports.style.words import share_of, spelled
from tests.reports.synthetic import record, runs_of


def table(records):
    (benchmark,) = benchmarks(records)
    return condition_table(benchmark, "clean", list(benchmark.runs))


def words(scores, metric="accuracy", **fields):
    ((_, text),) = column_captions(table(runs_of(scores, metric, **fields)))
    return text


def steady(centre, count=5, spread=0.0001, stream=0):
    return (centre + spread * np.random.default_rng(stream).normal(size=count)).tolist()


def test_all_others_are_worse():
    text = words({m: steady(0.9 - 0.1 * k, stream=k) for k, m in enumerate("ABCDEF")})
    assert re.fullmatch(
        r"A has the best accuracy \(90\.0+\u00a0%\); all five other methods are worse\.", text
    ), text
    text = words({"A": steady(0.9), "B": steady(0.8, stream=1)})
    assert re.fullmatch(r"A has the best accuracy \(90\.\d+\u00a0%\); B is worse\.", text), text


def test_some_are_worse_and_some_equal():
    scores = {m: steady(0.5 - 0.1 * k, stream=k) for k, m in enumerate("CDEFG")}
    text = words({"A": steady(0.9), "B": steady(0.899, stream=9), **scores})
    assert text.endswith("; B is within 0.5 points of it, and the other five are worse.")


def test_all_are_equal():
    text = words({m: steady(0.9, stream=k) for k, m in enumerate("ABC")})
    assert text.startswith("No difference of more than 0.5 points: all three methods are ")
    assert re.search(r"practically equal to the best, [ABC] \(90\.0\d+\u00a0%\)\.$", text)


def test_some_are_open():
    scores = {
        "A": steady(0.9, 5, 0.02),
        "B": steady(0.88, 5, 0.02, 1),
        "C": steady(0.2, 5, 0.02, 2),
    }
    text = words(scores)
    assert re.match(
        r"A has the highest accuracy so far \(\d+\.\d\u00a0%\), but B cannot be told from the best "
        r"with five seeds; C is worse\. B, the nearest, would take about \d+ seeds "
        r"\(\d+ to [\d,]+\) to settle\.$",
        text,
    ), text


def test_nothing_is_found():
    text = words({m: steady(0.5, 4, 0.1, k) for k, m in enumerate("ABC")}, "nll")
    assert re.match(
        r"Four seeds cannot tell these three methods apart: [ABC] has the lowest NLL "
        r"\([\d.]+ nats\), and none is shown to be worse\. ",
        text,
    ), text


def test_more_splits_do_not_help_where_training_sets_overlap():
    records = [
        record(m, fold=f, scores={"clean": {"rmse": v}}, facts={"train_rows": 50, "test_rows": 50})
        for k, m in enumerate("AB")
        for f, v in enumerate(steady(1 + 0.01 * k, 6, 0.1, k))
    ]
    ((_, text),) = column_captions(table(records))
    assert text.startswith("Six splits cannot tell these two methods apart: ")
    assert text.endswith(
        "No number of further splits of these data would settle it; other data would."
    )


def test_nothing_was_tested():
    text = words({"A": [0.5, 0.5], "B": [0.4, 0.4]})
    assert text.endswith("; with two runs nothing was tested.")
    assert words({"A": [0.5], "B": [0.4]}).endswith("; with one run nothing was tested.")


def test_one_method_and_nobody():
    assert words({"A": [0.5, 0.5, 0.6]}) == "A alone was compared: its accuracy is 53\u00a0%."
    text = words({"A": [0.5, float("nan"), 0.5]})
    assert text == (
        "No method has a complete set of runs, so none is called best. "
        "Not compared: A (a score is not finite)."
    )


def test_who_is_not_compared_is_said_once_for_all_columns():
    def run(method, seed, status="completed", **diagnostics):
        scores = {"nll": 1.0 + seed / 9 + len(method), "brier": 0.5 + seed / 9 + len(method)}
        return record(
            method,
            seed=seed,
            scores={"clean": scores} if status == "completed" else {},
            status=status,
            diagnostics=diagnostics,
        )

    records = [run(m, seed) for m in ("A", "BB") for seed in range(4)]
    records += [run("C", seed, ignores_inputs=1.0) for seed in range(4)]
    records += [run("DDD", seed, converged=0.0) for seed in range(4)]
    records += [run("E", seed, "diverged" if seed == 1 else "completed") for seed in range(4)]
    found = table(records)
    text = "Not compared: C (a constant), E (one of four runs diverged)."
    assert not_compared(found) == text
    assert not any(text in line for line in headed(found))
    assert headed(found)[0] == "A has the best NLL (2.17 nats); BB and DDD are worse."
    assert tooltip(found.rows[-1].cells[0], found.columns[0]).startswith(
        "not compared: one of four runs diverged; "
    )


def test_a_better_constant_is_told():
    records = runs_of({"A": steady(0.1), "B": steady(0.2, stream=1)}, "ece")
    records += runs_of({"C": [0.01] * 5}, "ece", diagnostics={"ignores_inputs": 1.0})
    ((_, text),) = column_captions(table(records))
    assert text.endswith(
        "A constant prediction has a better ECE (0.010000): this metric alone does not show a "
        "useful method."
    )


def test_the_caption_says_what_is_new_and_at_what_level():
    text = caption(table(runs_of({m: steady(0.5, 3, 0.1, k) for k, m in enumerate("ABCDEF")})))
    assert text == (
        "± is half of a 95 % interval over three seeds. Differences: new seeds, paired; the test "
        "set is taken as given. At most 2 % of such columns call a best method worse. Paired "
        "differences can decide where intervals overlap. Practically equal means within 0.01 nats "
        "of NLL."
    )


@pytest.mark.parametrize(
    ("scores", "told_"),
    [
        ({"A": steady(0.9), "B": steady(0.2, stream=1)}, r"worse than A \(p < 0\.0001\)"),
        (
            {"A": steady(0.9, spread=0.01), "B": steady(0.895, spread=0.01, stream=1)},
            r"not told from the best \(p = 0\.\d+\); about \d+ seeds .* would tell",
        ),
        (
            {"A": steady(0.9), "B": steady(0.8995, stream=1)},
            r"within 0\.5 points of every method that may be best \(p < 0\.0001\); worse than A",
        ),
    ],
)
def test_a_cell_gives_its_reason_and_its_interval(scores, told_):
    found = table(runs_of(scores, "accuracy"))
    (row,) = [row for row in found.rows if row.method == "B"]
    text = tooltip(row.cells[0], found.columns[0])
    assert re.match(told_, text), text
    assert re.search(r"; [\d.]+ to [\d.]+ \(5 seeds, standard error [\d.]+\)$", text)


def test_counts_are_words_up_to_twelve():
    assert [spelled(n) for n in (0, 1, 12, 13)] == ["no", "one", "twelve", "13"]
    assert share_of(1, 2, "run") == "one of two runs"
    assert share_of(1, 1, "run") == "the only run"
