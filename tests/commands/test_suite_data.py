"""The data of a command: original or not, all rows or the first."""

import os
from dataclasses import dataclass, replace

from bnnbench.datasets.cuts.limited import Limited
from bnnbench.engine.declare.case import Case, cases_of
from bnnbench.methods.networks.architectures import Linear
from tests.suites.commands import FAST, WITH_OPTIONAL, call, rows, times
from tests.suites.fakes import Elsewhere, Line, Mean


def test_original_data_has_no_banner(tmp_path):
    assert "STAND-IN" not in call(tmp_path).output


def test_original_data_only_means_no_stand_in(tmp_path):
    answer = call(
        tmp_path, "--data", "original", suite=replace(FAST, cases=(Case(Elsewhere(), ()),))
    )
    assert answer.code == 2
    assert "elsewhere.csv" in answer.errors


def test_stand_ins_come_with_a_banner_and_their_origin(tmp_path):
    suite = replace(FAST, cases=cases_of((Elsewhere(), Elsewhere("nowhere")), ()), folds=1)
    answer = call(tmp_path, suite=suite)
    assert answer.code == 0
    assert "STAND-IN DATA" in answer.output
    assert "ersatz: stand-in" in answer.output
    assert {(row["dataset"], row["origin"]) for row in rows(tmp_path)} == {("ersatz", "stand-in")}
    assert "2 of 2 runs" in answer.output  # two methods, and one stand-in for both sources


def test_an_optional_source_without_files_is_left_out_with_a_word(tmp_path):
    answer = call(tmp_path, suite=WITH_OPTIONAL)
    assert answer.code == 0
    assert "elsewhere: left out, its files are missing" in answer.output
    assert "bnnbench data fetch elsewhere" in answer.output
    assert {row["dataset"] for row in rows(tmp_path)} == {"line"}


def test_an_optional_source_that_is_asked_for_by_name_is_optional_no_more(tmp_path):
    answer = call(tmp_path, "--datasets", "elsewhere", suite=WITH_OPTIONAL)
    assert {row["dataset"] for row in rows(tmp_path)} == {"ersatz"}
    assert "left out" not in answer.output


def test_a_smoke_test_takes_the_first_rows_and_says_so(tmp_path):
    answer = call(tmp_path, "--limit", "5")
    assert "line: subset, 5 training and 5 test rows" in answer.output
    full = call(tmp_path)
    assert "4 runs: 4 to do" in full.output
    assert {row["origin"] for row in rows(tmp_path)} == {"subset", "original"}
    assert "subset" not in full.output


def test_a_limit_that_leaves_one_target_value_is_a_mistake(tmp_path):
    answer = call(tmp_path, "--limit", "1")
    assert answer.code == 2
    assert "all training targets (height)" in answer.errors
    assert "more rows" in answer.errors


def test_the_data_folder_and_offline_reach_workers_by_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("BNNBENCH_DATA", "before")
    monkeypatch.setenv("BNNBENCH_OFFLINE", "")
    call(tmp_path, "--data-dir", str(tmp_path / "files"), "--offline")
    assert os.environ["BNNBENCH_DATA"] == str(tmp_path / "files")
    assert os.environ["BNNBENCH_OFFLINE"] == "1"


def test_a_data_folder_that_is_a_file_is_no_reason_for_stand_ins(tmp_path, monkeypatch):
    monkeypatch.setenv("BNNBENCH_DATA", "")
    file = tmp_path / "data"
    file.write_text("a file")
    answer = call(tmp_path, "--data-dir", str(file))
    assert answer.code == 2
    assert f"{file} (--data-dir, BNNBENCH_DATA) is a file" in answer.errors


def test_an_error_of_the_data_in_the_middle_is_said_without_a_traceback(tmp_path):
    @dataclass(frozen=True)
    class Vanishing(Line):
        """Exists at first."""

        def load(self, fold):
            return Line().load(fold) if fold == 0 else Elsewhere().load(fold)

    answer = call(
        tmp_path, suite=replace(FAST, cases=(Case(Vanishing(), ()),), methods={"M": Mean()})
    )
    assert answer.code == 2
    assert answer.errors.startswith("error: elsewhere: no file")
    assert len(times(tmp_path)) == 1


def test_cases_that_a_limit_makes_equal_are_taken_once(tmp_path):
    few, many = Limited(Line(), train=6), Limited(Line(), train=12)
    cases = Case(few, (), "few"), Case(many, (), "many"), Case(many, (Linear(1),), "deep")
    suite = replace(FAST, cases=cases, folds=1)
    call(tmp_path, "--limit", "5", suite=suite)
    assert {row["dataset"] for row in rows(tmp_path)} == {"few", "deep"}
    call(tmp_path, suite=suite)
    assert {row["dataset"] for row in rows(tmp_path)} == {"few", "many", "deep"}


def test_a_case_with_a_name_of_its_own_keeps_it_on_stand_in_data(tmp_path):
    call(tmp_path, suite=replace(FAST, cases=(Case(Elsewhere(), (), "deep"),)))
    assert {(row["dataset"], row["origin"]) for row in rows(tmp_path)} == {("deep", "stand-in")}
