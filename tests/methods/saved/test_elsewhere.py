"""A posterior saved in one process and loaded in another predicts the same, to the last bit."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
import torch

import bnnbench
from bnnbench.methods import METHODS
from bnnbench.suites.check.problems import PROBLEMS, stream
from tests.contracts.test_every_method import MISSING, VARIANTS, covered, fits_of, small_method
from tests.methods.saved.elsewhere import predictions

FEW = [
    ("adamw", "cnn classification"),
    ("mc_dropout", "mlp regression"),
    ("laplace", "mlp classification"),
    ("neural_linear", "mlp regression"),
]
ALL = [
    (name, kind) for name in [*METHODS, *VARIANTS] if name not in MISSING for kind in covered(name)
]


@pytest.mark.parametrize(
    "cases", [pytest.param(FEW, id="few"), pytest.param(ALL, id="all", marks=pytest.mark.long)]
)
def test_predictions_are_equal_in_another_process(cases, tmp_path, subtests):
    posteriors, inputs = {}, {}
    for name, kind in cases:
        key = f"{name}-{kind}".replace(" ", "_")
        fits = fits_of(name, kind)
        posteriors[key], inputs[key] = fits.posterior, fits.inputs
        bnnbench.save(fits.posterior, tmp_path / key)
    _check(posteriors, inputs, tmp_path, subtests)


def _check(posteriors, inputs, folder, subtests):
    np.savez(folder / "inputs.npz", **{name: rows.numpy() for name, rows in inputs.items()})
    subprocess.run(
        [sys.executable, "-m", "tests.methods.saved.elsewhere", folder],
        check=True,
        env=os.environ | {"PYTHONWARNINGS": "ignore"},
    )
    found = dict(np.load(folder / "predictions.npz"))
    diagnostics = json.loads((folder / "diagnostics.json").read_text())
    for name, posterior in posteriors.items():
        with subtests.test(name):
            for key, expected in predictions(posterior, inputs[name]):
                np.testing.assert_array_equal(found[f"{name}/{key}"], expected, strict=True)
            assert diagnostics[name] == json.loads(json.dumps(dict(posterior.diagnostics)))
            assert _bytes(folder / f"{name}.again") == _bytes(folder / name)


def _bytes(folder):
    return {file.name: file.read_bytes() for file in folder.iterdir()}


@pytest.mark.long
def test_double_precision_comes_back(tmp_path, subtests):
    cases = {"mfvi": "mlp regression", "laplace": "cnn classification", "hmc": "mlp regression"}
    posteriors, inputs = {}, {}
    for name, kind in cases.items():
        problem = PROBLEMS[kind](0, dtype=torch.float64)
        posteriors[name] = small_method(name).fit(problem, stream(1))
        inputs[name] = problem.train.inputs
        bnnbench.save(posteriors[name], tmp_path / name)
    _check(posteriors, inputs, tmp_path, subtests)
