"""The suites of paper 003's small experiments: their declarations, and small versions."""

from dataclasses import replace

import pytest
import torch
from torch.nn.functional import cross_entropy

from bnnbench.datasets.conditions.rotated import Rotated, RotatedToNearest
from bnnbench.engine.records.record_json import from_json
from bnnbench.methods.base import BatchedMethod
from bnnbench.methods.function_space.index_sets import Grid, RotatedCopies
from bnnbench.methods.function_space.method import FunctionSpace
from bnnbench.methods.function_space.objective import DirichletPrior
from bnnbench.methods.label_smoothing import LabelSmoothing
from bnnbench.reports.papers.published import table
from bnnbench.suites.rotated_mnist import SUITES
from bnnbench.suites.two_moons import SUITES as MOONS
from tests.methods.problems import stream
from tests.suites.commands import call

PAPER = SUITES["paper"]


def test_every_printed_method_and_angle_takes_part():
    printed = [row for number in range(2, 11) for row in table("003", str(number))]
    labels = {label.casefold() for label in PAPER.methods}
    conditions = {e.condition.name: e.metrics for e in PAPER.evaluations}
    assert len(printed) == 19 * 6 * 3
    for row in printed:
        assert row.method in labels
        assert row.metric in conditions[row.condition or ""]


def test_angles_are_turned_from_0_to_180_by_10():
    for kind in (Rotated, RotatedToNearest):
        turned = [e.condition for e in PAPER.evaluations if type(e.condition) is kind]
        assert [condition.degrees for condition in turned] == [*range(10, 181, 10)]
    assert PAPER.evaluations[0].condition.name == "clean"


def test_every_model_is_fitted_in_both_spaces_and_seeds_train_together():
    alone = {"Class frequency", "MP", "MC Dropout of 50 masks", "MC Dropout fVI of 5 masks"}
    alone |= {"MAP belief matching", *PAPER.own_architectures}
    labels = {m for m in PAPER.methods if m not in alone and not m.endswith(" label smoothing")}
    plain = {label for label in labels if not label.endswith(" fVI")}
    assert {f"{label} fVI" for label in plain} | plain == labels
    assert len(plain) == 6
    assert all(isinstance(PAPER.methods[label], BatchedMethod) for label in {*labels, "MP"})
    assert PAPER.seeds == 10 <= PAPER.fitted_together


def test_labels_are_smoothed_as_much_as_one_function_under_fvi():
    """The gradient of the function-space objective and of smoothed labels, on a batch."""
    method = PAPER.methods["MAP label smoothing"]
    assert isinstance(method, LabelSmoothing)
    batch, classes = method.training.batch_size, 10
    logits = torch.randn(batch, classes, generator=stream(1)).double().requires_grad_()
    targets = torch.randint(classes, (batch,), generator=stream(2))
    smooth = cross_entropy(logits, targets, label_smoothing=method.share)
    prior = DirichletPrior(torch.ones(classes).double(), 60_000.0)
    of_function = prior.divergence(logits.log_softmax(1)[None, None])[0] / batch
    objective = cross_entropy(logits, targets) + of_function
    one, other = (torch.autograd.grad(loss, logits)[0] for loss in (objective, smooth))
    # Labels keep 1 - share of the loss; Adam ignores a factor of all gradients.
    difference = (one * (1 - method.share) - other).norm() / other.norm()
    assert float(difference) < 2e-3  # the smoothing of probabilities by 1e-4


def test_index_sets_have_a_turned_copy_for_each_angle():
    method = SUITES["index_sets"].methods["MAP fVI +90 +180"]
    assert isinstance(method, FunctionSpace)
    assert method.index[1] == RotatedCopies((90, 180))
    assert len(SUITES["index_sets"].methods) == 9


@pytest.mark.parametrize("profile", MOONS)
def test_the_plane_of_two_moons_is_the_one_that_is_looked_at(profile):
    suite = MOONS[profile]
    plane = suite.evaluations[1].condition
    priors = [m for m in suite.methods.values() if isinstance(m, FunctionSpace)]
    assert len(priors) == 9
    for method in priors:
        (grid,) = method.index
        assert isinstance(grid, Grid)
        assert (grid.low, grid.high) == (plane.low, plane.high)


def small(suite, labels):
    methods = {label: suite.methods[label] for label in labels}
    return replace(suite, seeds=1, methods={k: shorter(m) for k, m in methods.items()})


def shorter(method):
    training = getattr(method, "training", None)
    if training is not None:
        return replace(method, training=replace(training, epochs=1))
    return replace(method, epochs=1) if hasattr(method, "epochs") else method


def test_turned_digits_are_scored(tmp_path):
    suite = small(SUITES["quick"], ("Class frequency", "MAP", "MAP fVI", "Rank1 fVI"))
    suite = replace(suite, evaluations=suite.evaluations[:4])
    answer = call(tmp_path, "--data", "stand-in", "--limit", "60", "--no-report", suite=suite)
    assert answer.code == 0, answer.output + answer.errors
    records = [from_json(p.read_text()) for p in tmp_path.glob("rotated_mnist/runs/*/record.json")]
    assert {r.method for r in records} == set(suite.methods)
    for record in records:
        assert record.outcome.scores.keys() == {"clean", "rotated_10", "rotated_20", "rotated_30"}


def test_moons_are_scored(tmp_path):
    suite = small(MOONS["quick"], ("MAP", "MAP fVI biased to 1", "Ensemble fVI"))
    answer = call(tmp_path, "--no-report", suite=suite)
    assert answer.code == 0, answer.output + answer.errors
    records = [from_json(p.read_text()) for p in tmp_path.glob("two_moons/runs/*/record.json")]
    assert {r.method for r in records} == set(suite.methods)
    assert all("auroc_ood_dirichlet_precision" in r.outcome.scores["plane"] for r in records)
