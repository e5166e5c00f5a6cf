"""The approximation levels of message passing: their probe, and a small version of the suite."""

from dataclasses import replace

import pytest
import torch

from bnnbench.datasets.conditions.condition_names import FUNCTION, FUNCTION_INSIDE
from bnnbench.datasets.generated.bend import TEST, Bend, function
from bnnbench.datasets.references.reading import home, read
from bnnbench.engine.declare.grid import grouped
from bnnbench.engine.store.store import Store
from bnnbench.methods.approximation_levels.approximations import Drawn, RungPosterior, network_of
from bnnbench.methods.approximation_levels.levels import ExactForm, RowMessages
from bnnbench.methods.base import Problem
from bnnbench.reports.judge.table import Cell
from bnnbench.reports.read.benchmarks import benchmarks
from bnnbench.reports.sections.suites.approximation_levels import rungs_table
from bnnbench.suites.message_ladder.approximation_levels import QUICK
from bnnbench.suites.message_ladder.wide import WIDE
from bnnbench.suites.probes.approximation_levels import RungScores
from tests.methods.problems import stream
from tests.suites.commands import call

DRAWS = 2_000_000
PROBE = RungScores(DRAWS)
DATA = Bend().load(0)
PROBLEM = Problem(DATA.train, DATA.likelihood, network_of(0.1))


@pytest.fixture(scope="module")
def exact_rung():
    return ExactForm(draws=DRAWS).fit(PROBLEM, stream(1))


class Shifted(Drawn):
    """The exact posterior, with a larger mean and a wider function."""

    def function(self, model, x, rng):
        mean, variance = super().function(model, x, rng)
        return mean + 0.3, 4 * variance

    @property
    def stds(self):
        return super().stds * torch.tensor([2.0, 2, 1, 1, 3, 3, 0.5], dtype=torch.float64)


@pytest.mark.long
def test_the_exact_posterior_is_right_by_every_score(exact_rung):
    measured = PROBE.measure(exact_rung, DATA, stream(2))
    for place in (FUNCTION, FUNCTION_INSIDE):
        assert 0 <= measured[place].scores["kl_from_exact"] < 2e-4
    for place in measured.values():
        assert place.scores["eps_sigma"] == pytest.approx(1, abs=0.02)


def test_known_errors_are_measured(exact_rung):
    rung = RungPosterior(exact_rung.model, Shifted(exact_rung.exact), {})
    measured = PROBE.measure(rung, DATA, stream(2))
    x = DATA.test.inputs[:, 0]
    _, variance = Drawn(exact_rung.exact).function(exact_rung.model, x, stream(0))
    p, q = variance + 0.16, 4 * variance + 0.16
    kl = (p / q + 0.3**2 / q - 1 + (q / p).log()) / 2
    everywhere, inside = measured[FUNCTION].scores, measured[FUNCTION_INSIDE].scores
    assert everywhere["kl_from_exact"] == pytest.approx(float(kl.mean()), abs=0.004)
    middle = float(kl[x.abs() <= 1].mean())
    assert inside["kl_from_exact"] == pytest.approx(middle, abs=0.004)
    assert abs(middle - float(kl.mean())) > 0.01
    assert everywhere["eps_sigma"] == pytest.approx(2, abs=0.02)
    by_group = [s.scores["eps_sigma"] for name, s in measured.items() if "weights_" in name]
    assert by_group == pytest.approx([2, 1, 3, 0.5], rel=0.02)


@pytest.mark.long
def test_the_truth_does_not_depend_on_what_was_measured_before(exact_rung):
    rung = RowMessages().fit(PROBLEM, stream(1))
    alone = PROBE.measure(rung, DATA, stream(5))
    PROBE.measure(exact_rung, DATA, stream(6))
    assert PROBE.measure(rung, DATA, stream(5)) == alone


def test_bends_have_the_law_that_they_state():
    folds = [Bend().load(fold) for fold in range(300)]
    truths = [fold.truth for fold in folds if fold.truth is not None]
    noise = torch.cat([fold.test.targets for fold in folds]) - torch.cat(truths)
    assert float(noise.std()) == pytest.approx(0.2, rel=0.05)
    assert function(TEST).tolist() == pytest.approx([0.9, 0.6, 0.3, 0, 0.8, 1.6, 2.4])
    assert folds[0].train.inputs.dtype == torch.float64
    assert not torch.equal(folds[0].train.targets, folds[1].train.targets)


@pytest.mark.long
def test_the_suite_runs_and_its_table_has_every_rung(tmp_path):
    chosen = ("0 exact", "1a marginals", "2 exact rows", "5 package")
    methods = {
        label: replace(m, draws=DRAWS) if isinstance(m, ExactForm) else m
        for label, m in QUICK.methods.items()
        if label in chosen
    }
    suite = replace(QUICK, methods=methods, probes=(PROBE,), folds=1)
    answer = call(tmp_path, suite=suite)
    assert answer.code == 0, answer.errors
    assert "kl_from_exact" in answer.output
    records = list(Store(tmp_path / "message_ladder").current())
    exact = next(r for r in records if r.method == "0 exact")
    assert exact.outcome.diagnostics["effective_sample_size"] > 50_000
    (benchmark,) = benchmarks(records)
    table = rungs_table(benchmark)
    assert [row.method for row in table.rows] == list(chosen)
    assert len(table.columns) == 8
    cells = [row.cells[0] for row in table.rows]
    assert all(isinstance(cell, Cell) for cell in cells)
    divergences = [cell.mean for cell in cells if isinstance(cell, Cell)]
    assert divergences[0] < 2e-4 < divergences[3] < divergences[2] < divergences[1]


def test_every_wide_case_has_a_certified_posterior_and_weights_share_fits():
    for case in WIDE.cases:
        assert read(home() / case.name).name == case.name
    together = [{run.label for run in group} for group in grouped(WIDE.runs(), 20)]
    mixed = [{f"{m} 3 restarts (80 % of rows)", f"{m} 3 restarts (held-out weights)"}
             for m in ("MP", "MP informed")]  # fmt: skip
    assert all(pair in together for pair in mixed)
