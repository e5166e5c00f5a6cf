"""Edited methods, data and project code are noticed when a command is repeated."""

import csv
import importlib
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from bnnbench.datasets.base import Table
from bnnbench.engine.declare.case import Case
from bnnbench.engine.store.store import Store
from bnnbench.methods import own_files
from bnnbench.methods.marginal import Marginal
from bnnbench.methods.tuning.method import Tuned
from tests.methods.source_code.fresh import forget
from tests.records import changed
from tests.suites.commands import FAST, call, rows
from tests.suites.fakes import Line, Mean

METHOD = """
from dataclasses import dataclass

import torch

from bnnbench.methods.predictions.predictive import GaussianPredictive
from helper_beside import SHIFT


@dataclass(frozen=True)
class Posterior:
    mean: float
    diagnostics: dict

    def predict(self, inputs, rng):
        means = torch.full((1, len(inputs), 1), self.mean)
        return GaussianPredictive(means, torch.ones_like(means))


@dataclass(frozen=True)
class Constant:
    def fit(self, problem, rng):
        return Posterior(SHIFT + 0.0, {})
"""


@pytest.fixture(autouse=True)
def fresh_digests():
    """Read sources again, as the process of the next command does."""
    forget()
    yield forget
    forget()


@pytest.fixture
def own_file(tmp_path, monkeypatch, fresh_digests):
    """A method in a separate file that imports another, and a way to edit either."""
    folder = tmp_path / "mine"
    folder.mkdir()
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setenv(own_files.VARIABLE, "")

    def write(name: str, text: str) -> Path:
        (folder / name).write_text(text)
        for module in ("constant_method", "helper_beside"):
            sys.modules.pop(module, None)
        importlib.invalidate_caches()
        fresh_digests()
        return folder / name

    write("helper_beside.py", "SHIFT = 1.0\n")
    write("constant_method.py", METHOD)
    yield write
    for module in ("constant_method", "helper_beside"):
        sys.modules.pop(module, None)


def errors(out: Path) -> list[float]:
    return [float(row["value"]) for row in rows(out) if row["metric"] == "rmse"]


def fitted(own_file, out: Path, *flags: str):
    path = own_file("unrelated.py", "")
    named = f"{path.with_name('constant_method.py')}:Constant"
    return call(out, "--methods", named, *flags, suite=replace(FAST, methods={"Mean": Mean()}))


def test_an_edited_method_is_fitted_again_at_once(own_file, tmp_path):
    first = fitted(own_file, tmp_path)
    assert first.code == 0, first.errors
    before = errors(tmp_path)
    assert "2 to do" in first.output
    assert "0 to do" in fitted(own_file, tmp_path).output
    own_file("constant_method.py", METHOD.replace("SHIFT + 0.0", "SHIFT + 3.0"))
    again = fitted(own_file, tmp_path)
    assert "constant_method has changed: 2 runs are fitted again" in again.output
    assert "2 to do" in again.output
    assert min(errors(tmp_path)) > max(before)


@pytest.mark.long
def test_so_is_one_inside_a_search(own_file, tmp_path):
    method = METHOD.replace("class Constant:\n", "class Constant:\n    space = Space()\n\n")
    method = "from bnnbench.methods.tuning.space import Space\n" + method

    def searched(shift: float):
        own_file("constant_method.py", method.replace("+ 0.0", f"+ {shift}"))
        own_files.module_of(own_file("unrelated.py", ""))
        tuned = Tuned(importlib.import_module("constant_method").Constant(), trials=1, blocks=1)
        return call(tmp_path, suite=replace(FAST, methods={"Mean": Mean(), "Tuned": tuned}))

    assert searched(0.0).code == 0
    before = errors(tmp_path)
    assert "0 to do" in searched(0.0).output
    assert "constant_method has changed: 2 runs are fitted again" in searched(3.0).output
    assert max(errors(tmp_path)) > max(before)


@pytest.mark.long
def test_so_is_one_whose_neighbour_is_edited_but_not_for_a_comment(own_file, tmp_path):
    fitted(own_file, tmp_path)
    own_file("helper_beside.py", '"""Shifts."""\n\n# The first that I tried.\nSHIFT = 1.0\n')
    assert "0 to do" in fitted(own_file, tmp_path).output
    own_file("helper_beside.py", "SHIFT = 2.0\n")
    assert "constant_method has changed" in fitted(own_file, tmp_path).output


@dataclass(frozen=True)
class Csv(Line):
    """Rows of a user's file."""

    name: str = "heights"
    folds: int = 2
    path: str = ""

    def table(self, fold: int) -> Table:
        rows = np.loadtxt(self.path, delimiter=",")
        return Table(rows[:8, :2], rows[:8, 2], rows[8:, :2], rows[8:, 2])


@pytest.mark.long
def test_edited_data_is_fitted_again_at_once(tmp_path):
    path = tmp_path / "heights.csv"

    def write(scale: float) -> None:
        numbers = np.random.default_rng(1).normal(size=(12, 3)) * [1, 1, scale]
        with path.open("w", newline="") as file:
            csv.writer(file).writerows(numbers)

    write(1.0)
    suite = replace(FAST, cases=(Case(Csv(path=str(path)), ()),))
    assert call(tmp_path, suite=suite).code == 0
    before = errors(tmp_path)
    assert "0 to do" in call(tmp_path, suite=suite).output
    write(100.0)
    again = call(tmp_path, suite=suite)
    assert "the data of heights has changed: 4 runs are fitted again" in again.output
    assert min(errors(tmp_path)) > 10 * max(before)


@pytest.mark.long
def test_changed_project_code_marks_runs_and_repeats_them_when_asked(tmp_path):
    suite = replace(FAST, methods={"Marginal": Marginal()})
    assert call(tmp_path, suite=suite).code == 0
    store = Store(tmp_path / "miniature")
    records = list(store.records())
    assert all(
        record.circumstances.code_sha256 and record.circumstances.data_sha256 for record in records
    )
    store.rewrite_all([changed(record, code_sha256=f"m1:{0:064}") for record in records])
    told = call(tmp_path, suite=suite).output
    assert "recorded with other code: 2 runs; --refit changed re-runs them" in told
    assert "0 to do" in told
    again = call(tmp_path, "--refit", "changed", suite=suite).output
    assert "2 to do" in again
    assert "recorded with other code" not in call(tmp_path, suite=suite).output
    assert "2 to do" in call(tmp_path, "--refit", "all", suite=suite).output


def test_a_file_with_the_name_of_a_module_is_refused(tmp_path):
    (tmp_path / "json.py").write_text("")
    answer = call(tmp_path / "out", "--methods", f"{tmp_path / 'json.py'}:Method")
    assert answer.code == 2
    assert "json.py has the name of another module" in answer.errors
    assert "rename it" in answer.errors
    missing = call(tmp_path / "out", "--methods", f"{tmp_path / 'nowhere.py'}:Method")
    assert "there is no file" in missing.errors
