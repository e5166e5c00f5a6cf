"""The work that methods count, against closed forms and counts of calls."""

from dataclasses import replace

import pytest
import torch

from bnnbench.methods import METHODS, method_type
from bnnbench.methods.adamw import AdamW
from bnnbench.methods.dvi.method import Dvi
from bnnbench.methods.ensemble import Ensemble
from bnnbench.methods.fitting import work
from bnnbench.methods.fitting.members import in_threads
from bnnbench.methods.fitting.progress import listening
from bnnbench.methods.function_space.index_sets import Grid, TrainingData
from bnnbench.methods.function_space.method import FunctionSpace
from bnnbench.methods.function_space.models import Dropout
from bnnbench.methods.gp import evidence
from bnnbench.methods.gp.exact import GaussianProcess
from bnnbench.methods.hmc.method import Hmc
from bnnbench.methods.ivon import Ivon
from bnnbench.methods.laplace.method import Laplace
from bnnbench.methods.message_passing.method import MessagePassing
from bnnbench.methods.message_passing.schedule import Sequential
from bnnbench.methods.pbp.method import Pbp
from bnnbench.methods.trajectory.collector import Descent
from bnnbench.methods.trajectory.pca_slices import PcaSlices
from bnnbench.suites.check.problems import problems_of
from tests.contracts.test_every_method import MISSING, covered, small
from tests.methods.problems import classification, regression, stream, streams

ROWS = 40
UNTRAINED = {
    *("marginal", "untrained_network"),
    *("given", "on_last_layer", "guarded", "checkpoints"),  # of a network trained elsewhere
}
"""Methods whose fits do no counted work."""


def counted(method, problems):
    with work.counting() as tally:
        if len(problems) == 1:
            method.fit(problems[0], stream(1))
        else:
            method.fit_many(problems, streams(*range(len(problems))))
    return dict(tally.counts)


@pytest.mark.parametrize("method", [AdamW(epochs=3), Ivon(epochs=3), Dvi(epochs=3)])
def test_an_epoch_of_a_stack_takes_a_gradient_at_every_row_of_every_member(method):
    problems = [regression(rows=ROWS, seed=seed) for seed in range(2)]
    assert counted(method, problems) == {"gradient_rows": 2 * 3 * ROWS}


def test_members_of_an_ensemble_add_up():
    problem = regression(rows=ROWS)
    assert counted(Ensemble(5, AdamW(epochs=2)), [problem]) == {"gradient_rows": 5 * 2 * ROWS}


def test_variants_of_other_lengths_count_their_own():
    problem = regression(rows=ROWS)
    with work.counting() as tally:
        AdamW.fit_variants([AdamW(epochs=2), AdamW(epochs=7)], [problem] * 2, streams(0, 1))
    assert tally.counts == {"gradient_rows": 9 * ROWS}


def test_pbp_in_threads_updates_every_row_once_an_epoch():
    torch.set_num_threads(2)
    try:
        problems = [regression(rows=ROWS, seed=seed) for seed in range(3)]
        assert counted(Pbp(epochs=4), problems) == {"row_updates": 3 * 4 * ROWS}
    finally:
        torch.set_num_threads(1)


def test_rounds_of_messages_reach_every_row():
    method = MessagePassing(iterations=(1, 2, 3), batch_size=16, schedule=Sequential())
    with work.counting() as tally:
        posterior = method.fit(regression(rows=ROWS), stream(1))
    assert posterior.diagnostics["guard_events"] == 0
    assert tally.counts == {"message_rows": 6 * ROWS}


def test_a_leapfrog_step_takes_gradients_at_all_rows():
    counts = counted(Hmc(draws=20, warmup=10, chains=2), [regression(rows=ROWS)])
    steps = counts["leapfrog_steps"]
    assert steps >= 2 * 20
    assert counts == {"leapfrog_steps": steps, "gradient_rows": (steps + 2) * ROWS}


def test_laplace_adds_the_curvature_of_every_row_to_the_work_of_training():
    counts = counted(Laplace(AdamW(epochs=3)), [regression(rows=ROWS)])
    assert counts == {"gradient_rows": 3 * ROWS, "curvature_rows": ROWS}


def test_slices_count_the_likelihoods_that_they_ask_for():
    method = PcaSlices(Descent(epochs=20), draws=6, burn_in=2)
    with work.counting() as tally:
        posterior = method.fit(regression(rows=ROWS), stream(1))
    asked = posterior.diagnostics["evaluations_per_draw"] * 8
    assert tally.counts == {
        "gradient_rows": 20 * ROWS,
        "likelihood_rows": pytest.approx(asked * ROWS),
    }


def test_function_space_counts_every_mask_at_rows_and_at_index_points():
    corners = Grid(low=(-1.0,) * 4, high=(1.0,) * 4, step=2.0)
    method = FunctionSpace(Dropout(masks=3), (TrainingData(), corners))
    method = replace(method, training=replace(method.training, epochs=2, batch_size=16))
    assert counted(method, [classification(rows=ROWS)]) == {
        "gradient_rows": 2 * 3 * (ROWS + 3 * 2**4)  # of three batches
    }


def test_a_gaussian_process_counts_factorisations_of_covariances(monkeypatch):
    from sklearn.gaussian_process import _gpr

    calls = []

    def watched(true):
        def factorise(matrix, *rest, **options):
            calls.append(matrix.shape)
            return true(matrix, *rest, **options)

        return factorise

    monkeypatch.setattr(_gpr, "cholesky", watched(_gpr.cholesky))
    monkeypatch.setattr(evidence.lapack, "dpotrf", watched(evidence.lapack.dpotrf))
    counts = counted(GaussianProcess(restarts=1), [regression(rows=ROWS)])
    assert set(calls) == {(ROWS, ROWS)}
    assert counts == {"factorisations": len(calls)}


@pytest.mark.parametrize("name", [name for name in METHODS if name not in MISSING])
def test_every_method_counts_the_work_of_a_fit_and_reports_one_that_may_be_long(name):
    method, kind = small(method_type(METHODS[name])()), covered(name)[0]
    reports = []
    with work.counting() as tally, listening(lambda *report: reports.append(report)):
        method.fit(problems_of(method)[kind](0), stream(1))
    assert bool(tally.counts) is (name not in UNTRAINED)
    assert all(number > 0 for number in tally.counts.values())
    # A report marks the end of warm-up, before the clock starts.
    assert reports or tally.counts.keys() <= {"factorisations"}


def test_threads_that_copy_the_context_add_to_the_same_tally():
    posterior = AdamW(epochs=1).fit(regression(rows=ROWS), stream(1))

    def fit(problem, rng):
        for _ in range(1000):
            work.count("row_updates", 1)
        return posterior

    torch.set_num_threads(4)
    try:
        with work.counting() as tally:
            in_threads(fit, [regression(rows=ROWS)] * 8, streams(*range(8)))
    finally:
        torch.set_num_threads(1)
    assert tally.counts == {"row_updates": 8000}


def test_without_a_tally_nothing_is_counted_and_an_unknown_unit_is_refused():
    work.count("anything", 3)
    with work.counting() as tally, pytest.raises(ValueError, match="gradient_rows"):
        work.count("anything", 3)
    assert not tally.counts
