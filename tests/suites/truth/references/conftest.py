"""References of independent draws, with a known exact distribution."""

import functools
import json
from pathlib import Path

import numpy as np
import pytest

from bnnbench.datasets.cuts.limited import Limited
from bnnbench.datasets.references import calibration, reading
from bnnbench.datasets.stand_ins import DiabetesAsUci
from bnnbench.methods.hmc.method import Hmc
from bnnbench.methods.networks.catalogue import mlp
from bnnbench.methods.networks.priors import FixedPrecision
from bnnbench.suites.truth.references.certifying import certified
from bnnbench.suites.truth.references.model import FixedNoise, Model, Recipe
from bnnbench.suites.truth.references.sampling import Traces

SOURCE = Limited(DiabetesAsUci(), train=40, test=6)
MODEL = Model(SOURCE, 0, mlp([3], 1), FixedPrecision(1.0), FixedNoise(0.3))
RECIPE = Recipe(MODEL, Hmc(draws=8000, thinning=1, warmup=200, chains=8, prior_precision=1.0))


def traces(seed: int, shift: float = 0.0, scale: float = 1.0) -> Traces:
    """Return independent normal draws of all quantities."""
    rng = np.random.default_rng(seed)
    f_test = shift + scale * rng.normal(size=(8, 1000, 6))
    f_train = rng.normal(size=(8, 1000, 40))
    scalars = (rng.normal(size=(8, 1000)) for _ in range(3))
    return Traces(f_test, f_train, *scalars, 0.8, 0, 1.0)


@functools.cache
def known() -> tuple[dict, bytes]:
    """Return certificate and draws of a posterior that is known exactly."""
    return certified("known", RECIPE, traces(0), traces(1))


def keep_references(folder: Path) -> Path:
    """Store the reference "known", certified by independent draws and ranks, in a folder."""
    rng = np.random.default_rng(3)
    names = ("f_0", "loss", "sum_of_squares")
    ranks = {name: rng.integers(101, size=200).tolist() for name in names}
    record = {"family": MODEL.family, "draws": 100, "ranks": ranks}
    failed = calibration.failures(record | {"passes": True})
    assert not failed
    path = folder / "sbc" / f"{MODEL.family}.json"
    reading.write_json(path, record | {"passes": True, "failed": []})
    stated, draws = known()
    assert stated["passes"], stated["failed"]
    reading.write(folder / "known", stated, draws)
    return folder


@pytest.fixture
def references(tmp_path):
    """Return a folder with the reference "known"."""
    return keep_references(tmp_path / "references")


@pytest.fixture
def edit(references):
    """Return a function that changes the certificate and, on request, its own digest."""

    def change(act) -> None:
        path = references / "known" / "certificate.json"
        stated = json.loads(path.read_text())
        act(stated)
        path.write_text(json.dumps(stated))

    return change
