"""The runs that a command carries out, stores and repeats, and its exit code."""

from dataclasses import dataclass, replace

from bnnbench.commands import suite as cli
from bnnbench.datasets.conditions.clean import Clean
from bnnbench.engine.declare.case import Case
from bnnbench.engine.declare.grid import Evaluation
from bnnbench.engine.run import checkpoints
from bnnbench.engine.store.store import Store
from bnnbench.methods.networks.architectures import Linear
from tests.suites import fakes
from tests.suites.commands import FAST, call, rows, times
from tests.suites.fakes import Line, Mean


def test_all_completed_is_code_0_with_a_table(tmp_path):
    answer = call(tmp_path)
    assert answer.code == 0
    assert "line: original, 16 training and 8 test rows, 2 folds" in answer.output
    assert "line (original), clean" in answer.output
    assert "4 of 4 runs completed" in answer.output
    assert {(row["method"], row["fold"]) for row in rows(tmp_path)} == {
        (method, fold) for method in ("Mean", "Together") for fold in "01"
    }


def test_finished_runs_are_not_repeated_unless_asked(tmp_path):
    call(tmp_path)
    before = times(tmp_path)
    table = (tmp_path / "miniature" / "metrics.csv").read_bytes()
    again = call(tmp_path)
    assert "4 finished earlier, 0 to do" in again.output
    assert times(tmp_path) == before
    fresh = call(tmp_path, "--refit", "all")
    assert "4 runs: 4 to do" in fresh.output
    assert all(times(tmp_path)[key] > before[key] for key in before)
    assert (tmp_path / "miniature" / "metrics.csv").read_bytes() == table


def test_a_larger_grid_adds_what_is_new(tmp_path):
    call(tmp_path, "--folds", "1")
    answer = call(tmp_path, "--folds", "3", "--seeds", "2")
    assert "12 runs: 2 finished earlier, 10 to do" in answer.output


def test_diverged_and_failed_runs_are_code_3_and_only_failed_ones_are_tried_again(tmp_path):
    methods = {"Mean": Mean(), "Diverging": fakes.Diverging(), "Raising": fakes.Raising()}
    suite = replace(FAST, methods=methods, folds=1)
    answer = call(tmp_path, suite=suite)
    assert answer.code == 3
    assert "diverged: Diverging on line, fold 0, seed 0: the loss became" in answer.output
    assert "failed: Raising on line, fold 0, seed 0: RuntimeError: a bug" in answer.output
    assert "1 of 3 runs completed" in answer.output
    assert {row["method"] for row in rows(tmp_path)} == {"Mean"}
    again = call(tmp_path, suite=suite)
    assert "2 finished earlier, 1 to do" in again.output
    assert again.code == 3


def test_a_new_condition_needs_a_new_fit(tmp_path):
    @dataclass(frozen=True)
    class Turned(Clean):
        """The test split under another name."""

        name: str = "turned"

    call(tmp_path)
    evaluations = (*FAST.evaluations, Evaluation(Turned(), ("rmse",)))
    answer = call(tmp_path, suite=replace(FAST, evaluations=evaluations))
    assert "4 runs: 4 to do" in answer.output
    assert {row["condition"] for row in rows(tmp_path)} == {"clean", "turned"}


def test_a_new_metric_needs_none(tmp_path):
    call(tmp_path)
    evaluations = (Evaluation(Clean(), ("rmse", "log_likelihood", "crps")),)
    answer = call(tmp_path, suite=replace(FAST, evaluations=evaluations))
    assert "4 finished earlier, 0 to do" in answer.output
    assert {row["metric"] for row in rows(tmp_path)} == {"rmse", "log_likelihood", "crps"}


def test_a_finished_run_takes_the_label_of_today(tmp_path):
    call(tmp_path)
    call(tmp_path, suite=replace(FAST, methods={"Average": Mean()}))
    assert {row["method"] for row in rows(tmp_path)} == {"Average", "Together"}


def test_settings_tried_under_one_label_are_never_mixed(tmp_path):
    def table(shake: float) -> list[dict[str, str]]:
        call(tmp_path, suite=replace(FAST, methods={"Mean": Mean(shake)}))
        return rows(tmp_path)

    first, second = table(1.0), table(2.0)
    assert len(first) == len(second) == 4
    before = times(tmp_path)
    third = table(1.0)
    assert third == first
    assert times(tmp_path).keys() == before.keys()
    current = {record.run["method"]["shake"] for record in Store(tmp_path / "miniature").current()}
    assert current == {1.0}


def test_ctrl_c_in_this_process_keeps_what_is_finished(tmp_path):
    methods = {"Mean": Mean(), "Impatient": fakes.Impatient()}
    answer = call(tmp_path, suite=replace(FAST, methods=methods))
    assert answer.code == 130
    assert "To continue, repeat the command" in answer.output
    assert len(times(tmp_path)) == 2


def test_a_report_that_cannot_be_made_is_said_and_not_passed_off_as_success(tmp_path, monkeypatch):
    monkeypatch.setattr(cli, "REPORT", ("false",))
    answer = call(tmp_path, "--no-report")
    assert answer.code == 0
    monkeypatch.setattr(
        cli, "parse", lambda *a, parse=cli.parse: replace(parse(*a), no_report=False)
    )
    answer = call(tmp_path)
    assert answer.code == 1
    assert "the report could not be written; results are stored" in answer.errors


TWO_NETWORKS = replace(
    FAST,
    cases=(
        Case(Line(), (Linear(100),), "line-wide", "A wide line"),
        Case(Line(), (Linear(50),), "line-narrow"),
    ),
)


def test_cases_are_chosen_and_shown_by_their_names(tmp_path):
    answer = call(tmp_path, suite=TWO_NETWORKS)
    assert {row["dataset"] for row in rows(tmp_path)} == {"line-wide", "line-narrow"}
    assert "line-narrow (original), clean" in answer.output
    again = call(tmp_path, "--datasets", "LINE-wide", suite=TWO_NETWORKS)
    assert "4 runs: 4 finished earlier" in again.output
    assert "line-wide (original), clean" in again.output
    assert "line-narrow" not in again.output
    misspelt = call(tmp_path, "--datasets", "line", suite=TWO_NETWORKS)
    assert misspelt.code == 2
    assert "which has line-wide and line-narrow" in misspelt.errors


def test_a_finished_run_takes_the_case_names_of_today(tmp_path):
    call(tmp_path, suite=TWO_NETWORKS)
    before = times(tmp_path)
    wide, narrow = TWO_NETWORKS.cases
    cases = replace(wide, name="broad"), replace(narrow, title="A narrow line")
    call(tmp_path, suite=replace(TWO_NETWORKS, cases=cases))
    records = Store(tmp_path / "miniature").records()
    assert {(record.dataset, record.title) for record in records} == {
        ("broad", "A wide line"),
        ("line-narrow", "A narrow line"),
    }
    assert times(tmp_path).keys() == before.keys()


def test_a_pause_between_checkpoints_that_is_no_number_is_named_before_anything_runs(
    tmp_path, monkeypatch
):
    monkeypatch.setenv(checkpoints.SECONDS, "ten")
    answer = call(tmp_path)
    assert answer.code == 2
    assert "BNNBENCH_CHECKPOINT_SECONDS needs a number of seconds, 0 or more; got 'ten'" in (
        answer.errors
    )
    assert not list(tmp_path.iterdir())
