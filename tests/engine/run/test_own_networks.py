"""A method with a network of its own, from the fit to the record, the terminal and the tables."""

import io
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import pytest
import torch
from rich.console import Console
from torch import nn

from bnnbench.commands.running.summary import print_tables
from bnnbench.datasets.conditions.clean import Clean
from bnnbench.engine.declare.case import Case
from bnnbench.engine.declare.description import describe
from bnnbench.engine.declare.grid import Evaluation, Run, Suite
from bnnbench.engine.records.record_json import from_json, to_json
from bnnbench.engine.run.execute import execute
from bnnbench.engine.run.task import Task
from bnnbench.engine.store.store import Store
from bnnbench.methods.networks.catalogue import vgg16
from bnnbench.methods.predictions.predictive import GaussianPredictive
from bnnbench.reports.pages.exports.tables import markdown
from bnnbench.reports.papers.protocols import has_network
from bnnbench.reports.read.benchmarks import benchmarks
from bnnbench.reports.read.facts import networks
from bnnbench.reports.read.load import read
from bnnbench.reports.sections.condition_tables import condition_table
from tests.suites.fakes import Line, Mean

METRICS = (Evaluation(Clean(), ("rmse",)),)


class Slope(nn.Module):
    """A line through the origin, with a buffer."""

    def __init__(self):
        super().__init__()
        self.weights = nn.Parameter(torch.zeros(2, 1))
        self.register_buffer("scale", torch.ones(1))

    def forward(self, inputs):
        return self.scale * inputs @ self.weights


@dataclass(frozen=True)
class Fitted:
    own_network: Any
    diagnostics: ClassVar = {}

    def predict(self, inputs, rng):
        mean = self.own_network(inputs).detach()[None]
        return GaussianPredictive(mean, torch.ones_like(mean))


@dataclass(frozen=True)
class LeastSquares:
    """Has a network of two parameters; or an object that is no network."""

    broken: bool = False

    def fit(self, problem, rng):
        network = Slope()
        solution = torch.linalg.lstsq(problem.train.inputs, problem.train.targets).solution
        network.weights.data.copy_(solution)
        return Fitted("a slope" if self.broken else network)


def run_of(method, label):
    return Run("mini", "quick", label, Case(Line(), ()), method, fold=0, seed=0)


def record_of(method, label="Own"):
    (outcome,) = execute(Task((run_of(method, label),), METRICS))
    return outcome


def test_the_record_names_the_network():
    record = record_of(LeastSquares()).record
    assert record.outcome.status == "completed", record.outcome.error
    assert record.outcome.own_network["class"] == f"{Slope.__module__}:Slope"
    assert record.outcome.own_network["parameters"] == 2
    assert from_json(to_json(record)).outcome.own_network == record.outcome.own_network
    assert record_of(Mean()).record.outcome.own_network is None


def test_what_is_no_network_is_a_failure():
    record = record_of(LeastSquares(broken=True)).record
    assert record.outcome.status == "failed"
    assert "needed a torch module, a NetworkDescription or None" in record.outcome.error


@pytest.fixture
def store(tmp_path):
    store = Store(tmp_path / "mini")
    for method, label in ((LeastSquares(), "Own"), (Mean(), "Mean")):
        outcome = record_of(method, label)
        store.write(outcome.record, outcome.predictions)
    return store


def test_tables_set_it_apart_from_rows_with_the_same_network(store):
    (benchmark,) = benchmarks(read(store.folder).records)
    table = condition_table(benchmark, "clean", ("Own", "Mean"))
    (line,) = table.own_networks
    assert line.startswith("Own (Slope, 2 parameters, structure ")
    assert f"Custom networks: {line}." in markdown([("quick", table)])
    assert set(networks([benchmark])) == {"line", "Own on line"}
    assert networks([benchmark])["Own on line"] == [line.removeprefix("Own (")[:-1]]


def test_a_terminal_sets_it_apart(store):
    suite = Suite(
        *("mini", "a suite", (Case(Line(), ()),), {"Own": LeastSquares(), "Mean": Mean()}, METRICS),
        profile="quick",
    )
    console = Console(file=io.StringIO(), width=120)
    print_tables(suite, store.current(), console)
    assert "Custom networks: Own (Slope, 2 parameters" in console.file.getvalue()


def test_it_is_not_the_network_of_a_paper(store):
    own, mean = sorted(store.current(), key=lambda r: r.method, reverse=True)
    as_paper = {**own.run, "architecture": describe(vgg16())}
    assert has_network(replace(mean, run=as_paper), "vgg16") is True
    assert has_network(replace(own, run=as_paper), "vgg16") is False
