"""The summary that a command prints at its end."""

import io
import re
from dataclasses import replace

import numpy as np
import pytest
from rich.console import Console
from scipy.stats import sem, t

from bnnbench.commands.running.summary import print_tables
from bnnbench.commands.terminal.failures import print_failures
from bnnbench.datasets.conditions.clean import Clean
from bnnbench.datasets.cuts.pool import ActivePool
from bnnbench.engine.declare.acquisition import Acquisition
from bnnbench.engine.declare.case import Case
from bnnbench.engine.declare.grid import Evaluation
from bnnbench.reports.sections.terminal import HEADLINES
from bnnbench.reports.style import labels
from tests.engine.records.test_record import RECORD
from tests.records import changed
from tests.suites.fakes import Line
from tests.suites.miniature import QUICK

METRICS = ("rmse", "log_likelihood", "crps", "picp_90", "mpiw_90", "sharpness")
SUITE = replace(QUICK, evaluations=(Evaluation(Clean(), METRICS),))
VALUES = np.random.default_rng(0).normal(1.0, 0.3, size=(7, len(METRICS)))


FACTS = {"train_rows": 90, "test_rows": 10}


def half_width(values):
    """Return half of the interval over folds that share rows, by SciPy's Student's t."""
    shared = (1 + len(values) * 10 / 90) ** 0.5
    return t.ppf(0.975, len(values) - 1) * sem(values) * shared


def records(method="Mean"):
    for fold, row in enumerate(VALUES):
        scores = {"clean": dict(zip(METRICS, map(float, row), strict=True))}
        yield changed(
            RECORD, key=f"{method}{fold}", method=method, fold=fold, scores=scores, facts=FACTS
        )


def printed(records, width=200, show=print_tables):
    console = Console(file=io.StringIO(), width=width)
    show(*([SUITE] if show is print_tables else []), records, console)
    return console.file.getvalue()


def test_a_cell_is_mean_and_half_of_the_reports_interval():
    text = printed(records())
    cells = re.findall(r"(\d+\.\d+) ± (\d+\.\d+)", text)
    for (mean, error), values in zip(cells, VALUES.T, strict=False):
        assert float(mean) == pytest.approx(values.mean(), abs=0.0051)
        assert float(error) == pytest.approx(half_width(values), abs=0.0051)
    assert len(cells) == HEADLINES
    assert "± is half of a 95 % interval over seven splits." in text


def test_seeds_of_a_fold_count_as_one_value():
    values = {(0, 0): 1.0, (0, 1): 3.0, (1, 0): 5.0, (1, 1): 5.0, (2, 0): 0.0, (2, 1): 1.0}
    text = printed(
        changed(RECORD, fold=fold, seed=seed, scores={"clean": {"rmse": value}}, facts=FACTS)
        for (fold, seed), value in values.items()
    )
    assert f"2.5 ± {half_width([2.0, 5.0, 0.5]):.1f}" in text


def test_numbers_of_all_sizes_share_a_column():
    small = [changed(r, scores={"clean": {"rmse": 0.5 + 0.01 * r.fold}}) for r in records("Small")]
    large = [changed(r, scores={"clean": {"rmse": 90.0 + r.fold}}) for r in records("Large")]
    text = printed([*small, *large])
    assert re.search(r"\b0\.53\d* ± 0\.02", text)
    assert re.search(r"\b93\.0+ ± 2\.66", text)


def test_one_run_has_no_error_rather_than_none_at_all():
    text = printed([next(records())])
    assert "±" not in text
    assert "nan" not in text


@pytest.mark.parametrize("width", [40, 60, 80, 120, 200])
def test_no_line_is_wider_than_the_console_and_no_column_is_lost(width):
    text = printed(records(), width)
    assert all(len(line.rstrip()) <= width for line in text.splitlines())
    for metric in METRICS[:HEADLINES]:
        heading = rf"^method.*\b{labels.metric(metric)}\b"
        assert len(re.findall(heading, text, re.MULTILINE)) == 1
    assert "…" not in text


def test_a_condition_on_lesser_data_says_so():
    assert "line (original), clean\n" in re.sub(r" +\n", "\n", printed(records()))
    lesser = [changed(r, condition_origins={"clean": "stand-in"}) for r in records()]
    assert "line (original), clean (stand-in)" in printed(lesser)


def test_methods_stand_in_the_order_of_the_suite():
    text = printed([*records("Zebra"), *records("Together"), *records("Mean")])
    places = [text.index(name) for name in ("Mean", "Together", "Zebra")]
    assert places == sorted(places)


def test_names_are_not_taken_for_markup():
    assert "[red]<b>" in printed(records("[red]<b>"))


@pytest.mark.parametrize("value", [0.0, 1e-9, 1e12, float("inf"), float("nan"), -3.0])
def test_any_number_can_be_printed(value):
    text = printed([changed(RECORD, scores={"clean": {"rmse": value}})])
    assert "Mean" in text


def test_a_failure_is_one_line_with_its_reason():
    failed = changed(RECORD, status="failed", error="Traceback\n  File\nKeyError: [bold]\n")
    text = printed([RECORD, failed], show=print_failures)
    assert text == "failed: Mean on line, fold 0, seed 0: KeyError: [bold]\n"


def test_scores_of_runs_that_did_not_converge_are_marked_and_counted():
    sampled = [changed(r, diagnostics={"converged": float(r.fold > 1)}) for r in records("HMC")]
    text = printed([*records(), *sampled])
    marked = [line for line in text.splitlines() if "†" in line]
    assert [line.split()[0] for line in marked] == ["HMC", "†"]
    assert marked[0].count("†") == HEADLINES
    assert marked[1] == "† Runs that did not converge: HMC 2 of 7."
    assert "†" not in printed([changed(r, diagnostics={"converged": 1.0}) for r in sampled])


def test_active_learning_shows_its_last_round_in_the_order_of_the_suite():
    arms = {"R": Acquisition("random", rounds=2), "A": Acquisition("variance", rounds=2)}
    suite = replace(SUITE, cases=(Case(ActivePool(Line(), 4, 4, 3), ()),), acquisitions=arms)
    runs = [
        changed(r, method=f"{r.method}-{arm}", key=r.key + arm,
                scores={f"acquired_{k}": r.outcome.scores["clean"] for k in range(3)},
                condition_origins={f"acquired_{k}": "original" for k in range(3)})
        for arm in "AR" for r in records()
    ]  # fmt: skip
    console = Console(file=io.StringIO(), width=200)
    print_tables(suite, runs, console)
    text = console.file.getvalue()
    assert "acquired_2" in text
    assert "acquired_1" not in text
    assert text.index("Mean-R") < text.index("Mean-A")


def test_methods_and_data_sets_that_lack_a_score_for_one_reason_share_a_line():
    reasons = {"clean": {"crps": "it has no cdf"}}
    lacking = [
        changed(RECORD, method=method, dataset=dataset, status="completed", unanswered=reasons)
        for dataset in ("one", "two")
        for method in ("A", "B")
    ]
    other = {"clean": {"crps": "it states intervals alone"}}
    text = printed(
        [*lacking, changed(lacking[0], method="C", unanswered=other)], 200, print_failures
    )
    assert text.splitlines() == [
        "not scored: A, B on one, two under clean (crps): it has no cdf",
        "not scored: C on one under clean (crps): it states intervals alone",
    ]
