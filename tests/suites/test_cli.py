"""The command line, in this process."""

import csv
import os
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import torch

from datasets.conditions import Clean
from datasets.pool import ActivePool
from suites.engine import cli
from suites.engine.acquisition import Acquisition
from suites.engine.grid import Evaluation
from suites.engine.store import Store
from tests.suites import fakes
from tests.suites.fakes import Elsewhere, Line, Mean
from tests.suites.miniature import QUICK, SUITES

FAST = replace(QUICK, methods={"Mean": Mean(), "Together": fakes.Together()})

WITH_OPTIONAL = replace(FAST, sources=(Line(), Elsewhere()), optional=("elsewhere",), folds=1)


@dataclass(frozen=True)
class Answer:
    """What a command gave."""

    code: int
    output: str
    errors: str


def call(out: Path, *flags: str, suite=FAST, serial: bool = True) -> Answer:
    from _pytest.capture import SysCapture

    captures = SysCapture(1), SysCapture(2)
    for capture in captures:
        capture.start()
    arguments = ["--out", str(out), "--no-report", *flags]
    if serial and "--executor" not in flags:
        arguments += ["--executor", "serial"]
    try:
        code = cli.command({"quick": suite, "paper": SUITES["paper"]}, arguments)
    except SystemExit as stop:
        code = stop.code
    finally:
        output, errors = (capture.snap() for capture in captures)
        for capture in captures:
            capture.done()
    return Answer(code, output, errors)


def rows(out: Path) -> list[dict[str, str]]:
    with (out / "miniature" / "metrics.csv").open() as file:
        return list(csv.DictReader(file))


def times(out: Path) -> dict[str, int]:
    records = (out / "miniature" / "runs").glob("*/record.json")
    return {path.parent.name: path.stat().st_mtime_ns for path in records}


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
    fresh = call(tmp_path, "--fresh")
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


@pytest.mark.parametrize(
    ("names", "labels"),
    [
        ("mean", {"Mean"}),
        ("TOGETHER,Mean", {"Together", "Mean"}),
        ("tests.suites.fakes:Slow", {"Slow"}),
    ],
)
def test_methods_are_chosen_by_label_or_class(tmp_path, names, labels):
    assert call(tmp_path, "--methods", names, "--folds", "1").code == 0
    assert {row["method"] for row in rows(tmp_path)} == labels


def test_a_registry_key_chooses_every_label_of_its_class(tmp_path, monkeypatch):
    from suites.engine import selection

    table = {"mean_field": "tests.suites.fakes:Mean", "slow": "tests.suites.fakes:Slow"}
    monkeypatch.setattr(selection, "METHODS", table)
    suite = replace(FAST, methods={"A": Mean(), "B": Mean(2.0), "C": fakes.Together()}, folds=1)
    call(tmp_path, "--methods", "Mean_Field", suite=suite)
    assert {row["method"] for row in rows(tmp_path)} == {"A", "B"}
    call(tmp_path, "--methods", "slow", suite=suite)
    assert {row["method"] for row in rows(tmp_path)} == {"A", "B", "slow"}


@pytest.mark.parametrize(
    ("flags", "reason"),
    [
        (["--methods", "Maen"], "did you mean 'Mean'?"),
        (["--methods", "ivvon"], "did you mean 'ivon'?"),
        (["--methods", "nothing:Here"], "No module named 'nothing'"),
        (["--methods", "tests.suites.fakes:Absent"], "no class Absent"),
        (["--methods", "tests.suites.fakes:NeedsSettings"], "rate"),
        (["--methods", "tests.suites.fakes:Line"], "has no fit"),
        (["--methods", "mean,tests.suites.fakes:Mean"], "are the same method"),
        (["--methods", ","], "at least one name"),
        (["--datasets", "lime"], "did you mean 'line'?"),
        (["--seeds", "0"], "--seeds: needs a whole number, 1 or more; got '0'"),
        (["--folds", "-1"], "--folds: needs a whole number"),
        (["--limit", "1.5"], "--limit: needs a whole number"),
        (["--workers", "0"], "--workers: needs a whole number, 1 or more"),
        (["--workers", "100000", "--executor", "processes"], "a whole number from 1 to"),
        (["--workers", "2"], "the serial executor has one"),
        (["--profile", "medium"], "--profile"),
        (["--data", "fake"], "--data"),
        (["--prof", "quick"], "--prof"),
        (["surplus"], "surplus"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_misuse_is_code_2_with_the_reason(tmp_path, flags, reason):
    answer = call(tmp_path, *flags)
    assert answer.code == 2
    assert reason in answer.errors
    assert not (tmp_path / "miniature").exists()


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_cuda_without_cuda_is_misuse(tmp_path):
    answer = call(tmp_path, "--device", "cuda")
    assert answer.code == 2
    assert "torch finds no CUDA device" in answer.errors


def test_results_cannot_go_into_a_file(tmp_path):
    (tmp_path / "file").write_text("")
    answer = call(tmp_path / "file")
    assert answer.code == 2
    assert "is a file" in answer.errors


def test_a_metric_that_does_not_exist_is_named_before_anything_runs(tmp_path):
    suite = replace(FAST, evaluations=(Evaluation(Clean(), ("rsme",)),))
    answer = call(tmp_path, suite=suite)
    assert answer.code == 2
    assert "did you mean 'rmse'?" in answer.errors


def test_stand_ins_come_with_a_banner_and_their_origin(tmp_path):
    suite = replace(FAST, sources=(Elsewhere(), Elsewhere("nowhere")), folds=1)
    answer = call(tmp_path, suite=suite)
    assert answer.code == 0
    assert "STAND-IN DATA" in answer.output
    assert "ersatz: stand-in" in answer.output
    assert {(row["dataset"], row["origin"]) for row in rows(tmp_path)} == {("ersatz", "stand-in")}
    assert "2 of 2 runs" in answer.output  # two methods, and one stand-in for both sources


def test_an_optional_source_without_files_is_left_out_with_a_word(tmp_path):
    answer = call(tmp_path, suite=WITH_OPTIONAL)
    assert answer.code == 0
    assert "elsewhere: left out, its files are not here" in answer.output
    assert "python -m datasets fetch elsewhere" in answer.output
    assert {row["dataset"] for row in rows(tmp_path)} == {"line"}


def test_an_optional_source_that_is_asked_for_by_name_is_optional_no_more(tmp_path):
    answer = call(tmp_path, "--datasets", "elsewhere", suite=WITH_OPTIONAL)
    assert {row["dataset"] for row in rows(tmp_path)} == {"ersatz"}
    assert "left out" not in answer.output


@dataclass(frozen=True)
class Packaged(Mean):
    """Needs a package that nobody has."""

    lacks = "needs a package: pip install package"


PACKAGED = replace(FAST, methods={"Mean": Mean(), "Packaged": Packaged()})


def test_an_optional_method_without_its_package_is_left_out_with_the_cure(tmp_path):
    suite = replace(PACKAGED, optional_methods=("Packaged",))
    answer = call(tmp_path, suite=suite)
    assert answer.code == 0
    assert "Packaged: left out, it needs a package: pip install package" in answer.output
    assert {row["method"] for row in rows(tmp_path)} == {"Mean"}


@pytest.mark.parametrize("arguments", [(), ("--methods", "Packaged")])
def test_another_method_takes_part_whatever_it_lacks(arguments, tmp_path):
    optional = ("Packaged",) if arguments else ()
    answer = call(tmp_path, *arguments, suite=replace(PACKAGED, optional_methods=optional))
    assert "left out" not in answer.output
    assert "Packaged" in {row["method"] for row in rows(tmp_path)}


def test_settings_for_a_source_go_with_the_methods_that_were_chosen(tmp_path):
    settings = {"line": {"Mean": Mean(shake=0.5), "Together": fakes.Together()}}
    answer = call(tmp_path, "--methods", "Mean", suite=replace(FAST, own_settings=settings))
    assert answer.code == 0
    (kept,) = {str(r.run["method"]) for r in Store(tmp_path / "miniature").records()}
    assert "0.5" in kept


def test_an_optional_method_is_one_of_the_suite():
    with pytest.raises(ValueError, match="no method has the label Packed"):
        replace(PACKAGED, optional_methods=("Packed",))


def test_original_data_has_no_banner(tmp_path):
    assert "STAND-IN" not in call(tmp_path).output


def test_original_data_only_means_no_stand_in(tmp_path):
    answer = call(tmp_path, "--data", "original", suite=replace(FAST, sources=(Elsewhere(),)))
    assert answer.code == 2
    assert "elsewhere.csv" in answer.errors


def test_a_smoke_test_takes_the_first_rows_and_says_so(tmp_path):
    answer = call(tmp_path, "--limit", "5")
    assert "line: subset, 5 training and 5 test rows" in answer.output
    full = call(tmp_path)
    assert "4 runs: 4 to do" in full.output
    assert {row["origin"] for row in rows(tmp_path)} == {"subset", "original"}
    assert "subset" not in full.output


def test_the_data_folder_and_offline_reach_workers_by_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("BNNBENCH_DATA", "before")
    monkeypatch.setenv("BNNBENCH_OFFLINE", "")
    call(tmp_path, "--data-dir", str(tmp_path / "files"), "--offline")
    assert os.environ["BNNBENCH_DATA"] == str(tmp_path / "files")
    assert os.environ["BNNBENCH_OFFLINE"] == "1"


def test_an_error_of_the_data_in_the_middle_is_said_without_a_traceback(tmp_path):
    @dataclass(frozen=True)
    class Vanishing(Line):
        """Is there at first."""

        def load(self, fold):
            return Line().load(fold) if fold == 0 else Elsewhere().load(fold)

    answer = call(tmp_path, suite=replace(FAST, sources=(Vanishing(),), methods={"M": Mean()}))
    assert answer.code == 2
    assert answer.errors.startswith("error: elsewhere: no file")
    assert len(times(tmp_path)) == 1


def test_ctrl_c_in_this_process_keeps_what_is_finished(tmp_path):
    methods = {"Mean": Mean(), "Impatient": fakes.Impatient()}
    answer = call(tmp_path, suite=replace(FAST, methods=methods))
    assert answer.code == 130
    assert "to go on, the same command" in answer.output
    assert len(times(tmp_path)) == 2


def test_a_report_that_cannot_be_made_is_said_and_not_passed_off_as_success(tmp_path, monkeypatch):
    monkeypatch.setattr(cli.sys, "executable", "false")
    answer = call(tmp_path, "--no-report")
    assert answer.code == 0
    monkeypatch.setattr(
        cli, "parse", lambda *a, parse=cli.parse: replace(parse(*a), no_report=False)
    )
    answer = call(tmp_path)
    assert answer.code == 1
    assert "the report was not made; the results are" in answer.errors


def test_a_place_that_cannot_hold_results_is_named(tmp_path):
    (tmp_path / "miniature").write_text("a file")
    answer = call(tmp_path)
    assert answer.code == 2
    assert str(tmp_path / "miniature") in answer.errors
    assert "--out" in answer.errors


def test_a_limit_that_leaves_one_target_value_is_a_mistake(tmp_path):
    answer = call(tmp_path, "--limit", "1")
    assert answer.code == 2
    assert "all training targets (height)" in answer.errors
    assert "more rows" in answer.errors


def test_a_data_folder_that_is_a_file_is_no_reason_for_stand_ins(tmp_path, monkeypatch):
    monkeypatch.setenv("BNNBENCH_DATA", "")
    file = tmp_path / "data"
    file.write_text("a file")
    answer = call(tmp_path, "--data-dir", str(file))
    assert answer.code == 2
    assert f"{file} (--data-dir, BNNBENCH_DATA) is a file" in answer.errors


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("def broken(", "SyntaxError"),
        ("raise RuntimeError('at import')", "RuntimeError: at import"),
    ],
)
def test_a_method_whose_module_is_broken_is_named(tmp_path, monkeypatch, text, reason):
    name = f"broken_{reason[:6].lower()}"
    (tmp_path / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    answer = call(tmp_path, "--methods", f"{name}:Method")
    assert answer.code == 2
    assert f"cannot make {name}:Method: {reason}" in answer.errors


def test_classes_of_one_name_both_take_part(tmp_path, monkeypatch):
    text = "from tests.suites.fakes import Mean\n\n\nclass Twin(Mean):\n    pass\n"
    for name in ("twin_one", "twin_two"):
        (tmp_path / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    call(tmp_path, "--methods", "twin_one:Twin,twin_two:Twin,twin_one:Twin")
    assert {row["method"] for row in rows(tmp_path)} == {"Twin", "twin_two:Twin"}


ACTIVE = replace(
    FAST,
    sources=(ActivePool(Line(), train=6, test=5, repeats=3),),
    acquisitions={"R": Acquisition("random", rounds=3), "A": Acquisition("variance", rounds=3)},
    folds=3,
)


def test_active_learning_runs_both_arms_of_any_method_and_shows_the_last_round(tmp_path):
    answer = call(tmp_path, "--methods", "marginal", suite=ACTIVE)
    assert answer.code == 0
    assert "6 training and 5 test rows, a pool of 13, 3 folds" in answer.output
    assert "acquired_3" in answer.output
    assert "acquired_2" not in answer.output
    found = rows(tmp_path)
    assert {row["method"] for row in found} == {"marginal-A", "marginal-R"}
    assert {row["condition"] for row in found} == {f"acquired_{count}" for count in range(4)}
    before = times(tmp_path)
    assert (
        "6 finished earlier, 0 to do"
        in call(tmp_path, "--methods", "marginal", suite=ACTIVE).output
    )
    assert times(tmp_path) == before


def test_a_limit_on_a_pool_leaves_it_a_pool(tmp_path):
    answer = call(tmp_path, "--limit", "4", "--folds", "1", suite=ACTIVE)
    assert answer.code == 0
    assert "line: subset, 4 training and 4 test rows, a pool of 16" in answer.output


def test_more_acquisitions_than_the_pool_has_rows_are_a_mistake_with_a_cure(tmp_path):
    greedy = replace(ACTIVE, acquisitions={"A": Acquisition("variance", rounds=3, batch=5)})
    answer = call(tmp_path, suite=greedy)
    assert answer.code == 2
    assert "has 13 rows in its pool, but 15 are to be taken out of it" in answer.errors
    assert "Traceback" not in answer.errors
    assert not times(tmp_path)  # said before anything is fitted
