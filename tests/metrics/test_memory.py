"""Memory that scoring needs in addition to its input."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.long


CHILD = """
import json, resource, sys, torch
from bnnbench.methods.predictions.predictive import CategoricalPredictive
from bnnbench.metrics import CLASSIFICATION, METRICS, OUT_OF_DISTRIBUTION, value

def peak():
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit

torch.set_num_threads(1)
points = int(sys.argv[1])
rng = torch.Generator().manual_seed(0)
log_probs = torch.empty(10, points, 10).normal_(generator=rng)
for draw in log_probs:
    for chunk in draw.split(50_000):
        chunk.copy_(chunk.log_softmax(-1))
labels = torch.randint(10, (points,), generator=rng)
prediction, before = CategoricalPredictive(log_probs), peak()
for name in (*CLASSIFICATION, *OUT_OF_DISTRIBUTION):
    value(METRICS[name], prediction, labels % 2 if name in OUT_OF_DISTRIBUTION else labels)
print(json.dumps({"input": log_probs.nbytes, "before": before, "growth": peak() - before}))
"""


def growth(project: Path, points: int) -> int:
    """Return the growth of a process, in bytes, while it scores this number of points."""
    child = subprocess.run(
        [sys.executable, "-c", CHILD, str(points)], cwd=project, check=True, capture_output=True
    )
    measured = json.loads(child.stdout)
    assert measured["before"] > measured["input"] == 400 * points
    return measured["growth"]


def test_a_fifth_of_a_million_points_needs_less_than_a_fifth_of_a_gigabyte(project):
    assert growth(project, 200_000) < 1e9 / 5


MANY_DRAWS = """
import resource, sys, torch
from bnnbench.methods.predictions.base import CannotAnswer
from bnnbench.methods.predictions.predictive import CategoricalPredictive, GaussianPredictive
from bnnbench.methods.predictions.samples import SamplePredictive
from bnnbench.methods.predictions.student import StudentPredictive
from bnnbench.metrics import CLASSIFICATION, DIRICHLET, JOINT, JOINT_REGRESSION, METRICS, REGRESSION
from bnnbench.metrics import SCORES_OF_TABLES
from bnnbench.metrics import value

def peak():
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit

torch.set_num_threads(1)
draws, points = 20_000, 60
rng = torch.Generator().manual_seed(0)
means = torch.randn(draws, points, 1, generator=rng)
scales = torch.rand(draws, points, 1, generator=rng) + 0.1
target = torch.randn(points, 1, generator=rng)
log_probs = torch.randn(draws, points, 4, generator=rng).log_softmax(-1)
labels = (target[:, 0] > 0).long()
REAL = (*REGRESSION, *JOINT_REGRESSION)
for prediction, names, targets in (
    (GaussianPredictive(means, scales), REAL, target),
    (GaussianPredictive(means[:, :4], scales[:, :4]), SCORES_OF_TABLES, target[:4]),
    (GaussianPredictive(means, scales * 1e-20), REAL, target),
    (SamplePredictive(means), REAL, target),
    (StudentPredictive(means, scales, 9 * scales), ("log_likelihood", "calibration_error"), target),
    (CategoricalPredictive(log_probs), (*CLASSIFICATION, *DIRICHLET, *JOINT), labels),
):
    before = peak()
    for name in dict.fromkeys(names):
        try:
            value(METRICS[name], prediction, targets)
        except AttributeError:
            continue
        print(type(prediction).__name__, name, peak() - before, flush=True)
"""


def test_no_metric_needs_memory_for_pairs_of_draws(project):
    command = [sys.executable, "-c", MANY_DRAWS]
    child = subprocess.run(command, cwd=project, check=True, capture_output=True, text=True)
    grown = {line.rsplit(" ", 1)[0]: int(line.split()[2]) for line in child.stdout.splitlines()}
    assert {"GaussianPredictive crps", "GaussianPredictive joint_energy_score"} <= grown.keys()
    assert {name: size for name, size in grown.items() if size > 2e8} == {}
