"""Starts of trained networks: no method ignores one, and units, priors and rows stay apart."""

import io
from dataclasses import replace

import numpy as np
import pytest
import torch

from bnnbench.methods.adamw import AdamW
from bnnbench.methods.base import InferenceDiverged, Problem, Unsupported
from bnnbench.methods.dvi.method import Dvi
from bnnbench.methods.ensemble import Ensemble
from bnnbench.methods.function_space.method import FunctionSpace
from bnnbench.methods.function_space.models import Members
from bnnbench.methods.given import Given
from bnnbench.methods.hmc.method import Hmc
from bnnbench.methods.laplace.method import Laplace
from bnnbench.methods.laplace.structures import Full
from bnnbench.methods.networks.architectures import TorchModule
from bnnbench.methods.networks.priors import FixedPrecision
from bnnbench.methods.post_hoc.conformal import Conformal
from bnnbench.methods.post_hoc.guarded import Guarded
from bnnbench.methods.post_hoc.on_last_layer import OnLastLayer
from bnnbench.methods.post_hoc.rescaled import Rescaled
from bnnbench.methods.saved.files import files_of
from bnnbench.methods.tuning.rows import rows_of
from bnnbench.suites.check.problems import classification, regression, trained
from tests.methods.networks.modules.examples import Mlp
from tests.methods.problems import stream


def started(make=regression, **options):
    return trained(make)(0, **options)


def other_start(problem):
    start = problem.start
    return replace(problem, start=replace(start, weights=start.weights + 1.0))


def test_a_network_trained_on_targets_of_a_large_unit_answers_in_it():
    problem = started(rows=40)
    large = Problem(
        replace(problem.train, targets=1e6 * problem.train.targets),
        problem.likelihood,
        problem.architecture,
        start=problem.start,
        calibration=replace(problem.calibration, targets=1e6 * problem.calibration.targets),
    )
    barely = Dvi(epochs=1, learning_rate=1e-9, heteroscedastic=False)
    inputs = problem.train.inputs[:5]
    given = Given().fit(large, stream(0)).predict(inputs, stream(1)).mean
    moved = barely.fit(large, stream(0)).predict(inputs, stream(1)).mean
    torch.testing.assert_close(moved, given, rtol=1e-2, atol=1e-2)


def test_searches_around_other_networks_are_other_searches():
    problem = started()
    assert rows_of(problem) != rows_of(other_start(problem))
    assert rows_of(problem) == rows_of(replace(problem))


def test_a_whole_module_is_no_linear_layer():
    module = TorchModule(Mlp, 1, arguments={"features": 1})
    problem = replace(started(), architecture=(module,))
    with pytest.raises(Unsupported, match="cannot start from a trained network"):
        Hmc().fit(problem, stream(0))


def test_members_that_would_start_as_one_are_refused():
    problem = started(classification)
    for method in (Ensemble(3, AdamW(epochs=1)), FunctionSpace(Members())):
        with pytest.raises(Unsupported, match=r"Checkpoints\(files\)"):
            method.fit(problem, stream(0))


def test_a_stated_prior_is_not_dropped_on_the_last_layer():
    problem = replace(started(), prior=FixedPrecision(4.0))
    with pytest.raises(Unsupported, match="without a stated prior"):
        OnLastLayer(Hmc()).fit(problem, stream(0))


def test_a_network_of_infinite_errors_gets_no_factor():
    problem = started()
    far = problem.start.weights * 1e30
    problem = replace(problem, start=replace(problem.start, weights=far))
    assert isinstance(Rescaled(Given()).fit_many([problem], [stream(0)])[0], InferenceDiverged)


def test_rows_to_choose_by_are_asked_for_before_any_fit():
    class Counted(Given):
        def fit_many(self, problems, rngs):
            raise AssertionError("it was fitted")

    with pytest.raises(Unsupported, match="rows to choose by"):
        Guarded(Counted()).fit(replace(started(), calibration=None), stream(0))


def test_the_fit_whose_precision_calibration_rows_choose_is_the_one_that_predicts():
    calls = []

    class Counted(Given):
        def fit_many(self, problems, rngs):
            calls.append(len(problems))
            return super().fit_many(problems, rngs)

    laplace = Laplace(Counted(), Full("last"), prior_precisions=(1.0, 10.0))
    laplace.fit(started(classification), stream(0))
    assert calls == [1]


def test_a_saved_conformal_posterior_has_no_training_rows():
    problem = started(rows=40)
    saved = files_of(Conformal(Given()).fit(problem, stream(0)))
    assert b"problem" not in saved["posterior.json"]
    with np.load(io.BytesIO(saved["arrays.npz"])) as arrays:
        shapes = [arrays[name].shape for name in arrays.files]
    assert not any(40 in shape for shape in shapes), "an array has an entry for every row"
