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
