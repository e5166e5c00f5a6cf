"""The saved method of a comparison: which code the command runs to make it."""

import pytest

from bnnbench.commands.compare import PROFILES
from bnnbench.commands.running import first_method
from bnnbench.commands.running.arguments import parse
from bnnbench.datasets.own.table import own_table
from bnnbench.engine.declare.grid import Run
from bnnbench.engine.run.sandbox import sandbox
from bnnbench.methods.base import Problem
from bnnbench.methods.libraries.sklearn_ridge import SklearnRidge
from bnnbench.methods.marginal import Marginal
from bnnbench.methods.networks.catalogue import mlp
from bnnbench.methods.saved import files
from bnnbench.methods.saved.errors import NotSaved
from bnnbench.suites import Entry
from bnnbench.suites.own import suites_of
from tests.commands.planning.test_budget import record as record_of
from tests.records import changed

RECORD = record_of()
GUEST = {"type": "a_guest:Method"}
NETWORK = [{"type": "torch_module", "factory": "a_network:make", "arguments": {}}]


class Quitting:
    """A method that ends its process."""

    def fit(self, problem: Problem, rng):
        raise SystemExit(5)


@pytest.fixture
def table(tmp_path):
    (tmp_path / "rows.csv").write_text("a,y\n" + "".join(f"{n},{n / 7}\n" for n in range(40)))
    return own_table(str(tmp_path / "rows.csv"), "y", None)


@pytest.mark.parametrize(
    ("parts", "flags", "may_run"),
    [
        ({}, [], True),
        ({"method": GUEST}, [], False),
        ({"method": {"type": "tuned", "method": GUEST}}, [], False),
        ({"method": GUEST}, ["--in-process"], True),
        ({"architecture": NETWORK}, [], True),
        ({"architecture": NETWORK}, ["--sandbox"], False),
    ],
)
def test_third_party_code_is_not_run_in_the_process_of_the_command(
    tmp_path, table, monkeypatch, parts, flags, may_run
):
    """`rebuilt_run` is the first step that imports the code."""
    monkeypatch.setattr(sandbox, "lacking", lambda: None)
    rebuilt = []
    record = changed(RECORD, run={**RECORD.run, "method": {"type": "marginal"}, **parts})

    def rebuilt_run(record, packages):
        rebuilt.append(record)
        raise NotSaved("enough")

    monkeypatch.setattr(first_method, "first_record", lambda *_: record)
    monkeypatch.setattr(first_method, "rebuilt_run", rebuilt_run)
    options = parse("own", Entry("", PROFILES), ["--out", str(tmp_path), *flags])
    lines = " ".join(first_method.saved_model(table, suites_of(table)["quick"], options))
    assert rebuilt == ([record] if may_run else [])
    assert ("third-party code" in lines) is not may_run
    assert "bnnbench.save" in lines or may_run


def test_a_method_that_exits_is_not_saved_and_does_not_end_the_command(table):
    with pytest.raises(NotSaved, match="SystemExit: 5"):
        first_method.fitted(table, "Quitting", Quitting(), mlp([5], 1))
    assert first_method.fitted(table, "Mean", Marginal(), mlp([5], 1)).label == "Mean"


def test_an_equal_model_is_not_fitted_again(tmp_path, table, monkeypatch):
    """With another method or version, or if its files are damaged, it is."""
    suite, fits = suites_of(table)["quick"], []
    case = suite.cases[0]

    def lines_of(method, version="1"):
        run = Run("own", "quick", "Mean", case, method, fold=0, seed=0)
        monkeypatch.setattr(first_method, "first_record", lambda *_: RECORD)
        monkeypatch.setattr(first_method, "rebuilt_run", lambda record, packages: run)
        monkeypatch.setattr(files, "_version", lambda package: version)
        options = parse("own", Entry("", PROFILES), ["--out", str(tmp_path), "--in-process"])
        return " ".join(first_method.saved_model(table, suite, options))

    def fitted(*arguments):
        fits.append(arguments)
        return whole(*arguments)

    whole = first_method.fitted
    monkeypatch.setattr(first_method, "fitted", fitted)
    lines_of(Marginal())
    again = lines_of(Marginal())
    assert len(fits) == 1
    assert "not fitted again" in again
    assert "bnnbench predict" in again
    lines_of(SklearnRidge())
    assert len(fits) == 2
    lines_of(SklearnRidge(), version="2")
    assert len(fits) == 3
    arrays = tmp_path / "own" / "rows" / "model" / "arrays.npz"
    arrays.write_bytes(arrays.read_bytes()[:-1])
    lines_of(SklearnRidge(), version="2")
    assert len(fits) == 4
    lines_of(SklearnRidge(), version="2")
    assert len(fits) == 4
